// Takes the graph elsewhere: link, JSON, SVG, PNG.

import type { Picture } from "./draw";
import { toSvg } from "./svg";
import type { Scene } from "./useScene";

export function saveJson(scene: Scene): void {
  const { graph, lit } = scene;
  const told = {
    nodes: [...graph.nodes.values()],
    edges: graph.edges,
    columnEdges: lit?.edges ?? [],
  };
  save("lineage.json", new Blob([JSON.stringify(told, null, 2)], { type: "application/json" }));
}

export function saveSvg(picture: Picture, scene: Scene): void {
  save("lineage.svg", svgBlob(picture, scene));
}

export function savePng(picture: Picture, scene: Scene): void {
  const url = URL.createObjectURL(svgBlob(picture, scene));
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = image.width * 2;
    canvas.height = image.height * 2;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    canvas.toBlob((blob) => blob && save("lineage.png", blob));
  };
  image.src = url;
}

function svgBlob(picture: Picture, scene: Scene): Blob {
  return new Blob([toSvg(picture, scene)], { type: "image/svg+xml" });
}

export function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
