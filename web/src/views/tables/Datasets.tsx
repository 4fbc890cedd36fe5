import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { get } from "../../api/client";
import { datasetId, datasetLink, lineageLink } from "../../api/names";
import { often } from "../../api/queries";
import type { DatasetData, DatasetDataPage } from "../../api/types";
import { Icon } from "../../components/Icon";
import { Empty, FirstEvent } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { KIND_WORD, kindOf } from "../../graph/kinds";
import { ago } from "../../graph/words";
import { useNow } from "../../live/now";
import { Tags } from "../lineage/PanelParts";
import { Filter, Listing, PAGE, Page, useParams } from "./parts";

export function Datasets() {
  useTitle("Datasets");
  const [params, change] = useParams();
  const q = params.get("q") ?? "";
  const offset = Number(params.get("offset") ?? 0);
  const found = useQuery({
    queryKey: ["datasets", q, offset],
    queryFn: ({ signal }) => get<DatasetDataPage>("/datasets", { q, limit: PAGE, offset }, signal),
    refetchInterval: often,
    placeholderData: keepPreviousData,
  });
  const datasets = found.data?.datasets ?? [];
  return (
    <Page
      title="Datasets"
      tools={
        <Filter
          label="Filter by name"
          value={q}
          change={(text) => change({ q: text, offset: null }, true)}
        />
      }
    >
      <Listing
        what="datasets"
        found={found}
        heads={["Dataset", "Kind", "Columns", "Tags", "Updated"]}
        rows={datasets.map((dataset) => <Row key={datasetId(dataset)} dataset={dataset} />)}
        none={
          <Empty title={q ? "No dataset matches" : "No datasets yet"}>{!q && <FirstEvent />}</Empty>
        }
        offset={offset}
        change={change}
      />
    </Page>
  );
}

function Row({ dataset }: { dataset: DatasetData }) {
  const now = useNow();
  const kind = kindOf(dataset.namespace, dataset.name);
  return (
    <tr>
      <td className="wide">
        <Link href={datasetLink(dataset)} className="with-icon">
          <Icon name={kind} />
          {dataset.name}
        </Link>
        <small>{dataset.namespace}</small>
      </td>
      <td>{KIND_WORD[kind]}</td>
      <td>{dataset.fields.length}</td>
      <td>
        <Tags tags={dataset.tags} />
      </td>
      <td>{ago(dataset.updatedAt, now)}</td>
      <td>
        <Link href={lineageLink(datasetId(dataset))}>graph</Link>
      </td>
    </tr>
  );
}
