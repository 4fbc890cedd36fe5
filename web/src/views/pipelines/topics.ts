// What the page asks about topics, through the server.
import { queryOptions } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { MessagePage, TopicCluster, TopicDetail, TopicPage } from "../../api/types";

const at = (cluster: string, ...rest: string[]) =>
  `/kafka/${[cluster, "topics", ...rest].map(encodeURIComponent).join("/")}`;

export const topicLink = (cluster: string, topic: string): string =>
  `/pipelines/topic?${new URLSearchParams({ cluster, topic })}`;

/** The messages of a topic from an offset on; the topic is named by its node in the graph. */
export const peekLink = (node: string, partition: string, offset: number): string =>
  `/pipelines/topic?${new URLSearchParams({ node, partition, offset: String(offset) })}`;

export const kafkaQuery = queryOptions({
  queryKey: ["kafka"],
  queryFn: ({ signal }) => get<TopicCluster[]>("/kafka", {}, signal),
});

export const topicsQuery = (cluster: string) =>
  queryOptions({
    queryKey: ["topics", cluster],
    queryFn: ({ signal }) => get<TopicPage>(at(cluster), {}, signal),
    refetchInterval: 5_000,
    retry: false,
  });

export const topicQuery = (cluster: string, topic: string) =>
  queryOptions({
    queryKey: ["topic", cluster, topic],
    queryFn: ({ signal }) => get<TopicDetail>(at(cluster, topic), {}, signal),
    refetchInterval: 10_000,
    retry: false,
  });

/** Messages from an offset of a partition on. */
export interface From {
  partition: string;
  offset: number;
}

/** The latest messages of each partition, or those from an offset on. */
export const messagesQuery = (cluster: string, topic: string, limit: number, from: From | null) =>
  queryOptions({
    queryKey: ["messages", cluster, topic, limit, from],
    queryFn: ({ signal }) => {
      const offsets = from && Array.from({ length: limit }, (_, one) => String(from.offset + one));
      const params = from ? { partition: from.partition, offset: offsets } : { limit };
      return get<MessagePage>(at(cluster, topic, "messages"), params, signal);
    },
    retry: false,
    staleTime: 0,
  });
