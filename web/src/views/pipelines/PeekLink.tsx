// A link to messages of a topic, where the server can look into topics.
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { kafkaQuery, peekLink } from "./topics";

interface Props {
  node: string;
  partition: string;
  offset: number;
  /** What stands there where the server knows no Kafka cluster, or the key may not read messages. */
  fallback?: ReactNode;
  children: ReactNode;
}

export function PeekLink({ node, partition, offset, fallback = null, children }: Props) {
  const clusters = useQuery({ ...kafkaQuery, retry: false });
  if (!clusters.data?.length) return fallback;
  return <Link href={peekLink(node, partition, offset)}>{children}</Link>;
}
