// Where the nodes of a network are drawn. Networks with receivers (star, dumbbell, tree) run from left to right, towards
// the receivers; all others stand on their hosts, each layer of switches above the one nearer to the hosts.
import type { Picture } from "../worker/protocol";

export interface Place {
  /** From 0 to 1 along the layers. */
  layer: number;
  /** From 0 to 1 across them. */
  across: number;
  /** Nodes of its layer. */
  crowd: number;
}

export interface Layout {
  places: Place[];
  /** Layers run from left to right, or else from bottom to top. */
  horizontal: boolean;
}

export function layout(picture: Picture): Layout {
  const neighbours = neighboursOf(picture);
  const receivers = picture.nodes.flatMap((node, i) => (/^receiver(:|$)/.test(node.name) ? [i] : []));
  const horizontal = receivers.length > 0;
  const layers = horizontal
    ? towardsReceivers(picture, neighbours, receivers)
    : distances(picture, neighbours, hostsOf(picture));
  return placed(layers, neighbours, horizontal);
}

function hostsOf(picture: Picture): number[] {
  return picture.nodes.flatMap((node, i) => (node.kind === "host" ? [i] : []));
}

function neighboursOf(picture: Picture): number[][] {
  const neighbours: number[][] = picture.nodes.map(() => []);
  for (const port of picture.ports) neighbours[port.from]?.push(port.to);
  return neighbours;
}

/** Links to the nearest of some nodes, for every node; unreachable nodes count as near. */
function distances(picture: Picture, neighbours: number[][], from: number[]): number[] {
  const distance = picture.nodes.map(() => -1);
  for (const node of from) distance[node] = 0;
  const queue = [...from];
  for (let head = 0; head < queue.length; head += 1) {
    const node = queue[head] ?? 0;
    for (const next of neighbours[node] ?? []) {
      if (distance[next] !== -1) continue;
      distance[next] = (distance[node] ?? 0) + 1;
      queue.push(next);
    }
  }
  return distance.map((links) => Math.max(0, links));
}

/** The receivers are in the last layer, and all senders in the first one. */
function towardsReceivers(picture: Picture, neighbours: number[][], receivers: number[]): number[] {
  const distance = distances(picture, neighbours, receivers);
  const most = Math.max(...distance);
  return distance.map((links, i) => {
    const sender = picture.nodes[i]?.kind === "host" && !receivers.includes(i);
    return sender ? 0 : most - links;
  });
}

function placed(layerOf: number[], neighbours: number[][], horizontal: boolean): Layout {
  const layers = Math.max(...layerOf) + 1;
  const members: number[][] = Array.from({ length: layers }, () => []);
  layerOf.forEach((layer, node) => members[layer]?.push(node));
  const places: Place[] = layerOf.map((layer) => ({
    layer: layers > 1 ? layer / (layers - 1) : 0.5,
    across: 0.5,
    crowd: members[layer]?.length ?? 1,
  }));
  // From the layer with the hosts on, each layer in the order of its neighbours before it.
  for (const nodes of members) {
    const order = nodes.map((node) => ({ node, mean: meanBefore(node, layerOf, neighbours, places) }));
    order.sort((a, b) => a.mean - b.mean || a.node - b.node);
    order.forEach(({ node }, i) => {
      const place = places[node];
      if (place) place.across = (i + 0.5) / nodes.length;
    });
  }
  return { places, horizontal };
}

function meanBefore(node: number, layerOf: number[], neighbours: number[][], places: Place[]): number {
  const layer = layerOf[node] ?? 0;
  const before = (neighbours[node] ?? []).filter((other) => (layerOf[other] ?? 0) < layer);
  if (before.length === 0) return 0;
  return before.reduce((sum, other) => sum + (places[other]?.across ?? 0), 0) / before.length;
}
