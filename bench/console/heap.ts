// Heap of a page after collections: the whole, the page's own objects, and V8's data about the page's functions.
import type { CDPSession, Page } from 'playwright-core';

export interface Heap {
  /** All that V8 keeps for the page: the figure that is judged. */
  readonly whole: number;
  /** Objects, arrays, texts, numbers and closures: what a leak of the page would add to. */
  readonly objects: number;
  /** Compiled code, what V8 learnt about calls, and its maps of objects' shapes. It follows how often functions ran. */
  readonly engine: number;
  /** Nodes of the document, which live outside this heap. */
  readonly nodes: number;
}

/** One collection leaves what only the one before it made free. */
const collections = 3;
const betweenMs = 1_500;
/** Looks in a row that found no less: what runs seldom has lost its code by then, on an early look as on a late one. */
const settled = 4;
const mostLooks = 16;
/** Snapshots, of which the one with the least objects counts. */
const snapshots = 3;

/** Kinds of a heap snapshot's nodes that are the engine's; those outside of its heap are left out. */
const ofEngine = new Set(['code', 'hidden', 'object shape', 'synthetic']);
const outside = 'native';

interface Snapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: string[]; readonly node_types: [string[], ...unknown[]] };
  };
  readonly nodes: readonly number[];
}

/** Bytes by whose they are. */
async function kinds(session: CDPSession): Promise<Pick<Heap, 'objects' | 'engine'>> {
  const pieces: string[] = [];
  const take = ({ chunk }: { readonly chunk: string }): void => void pieces.push(chunk);
  session.on('HeapProfiler.addHeapSnapshotChunk', take);
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  session.off('HeapProfiler.addHeapSnapshotChunk', take);
  const { snapshot, nodes } = JSON.parse(pieces.join('')) as Snapshot;
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [kindAt, sizeAt] = [fields.indexOf('type'), fields.indexOf('self_size')];
  let [objects, engine] = [0, 0];
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = types[0][nodes[at + kindAt] ?? 0] ?? '';
    const size = nodes[at + sizeAt] ?? 0;
    if (ofEngine.has(kind)) engine += size;
    else if (kind !== outside) objects += size;
  }
  return { objects, engine };
}

/** A look may meet an answer on its way, which is larger than what a page keeps: the least of several counts. */
export async function heapOf(page: Page): Promise<Heap> {
  const session = await page.context().newCDPSession(page);
  let whole = Number.POSITIVE_INFINITY;
  let inVain = 0;
  for (let look = 0; look < mostLooks && inVain < settled; look += 1) {
    for (let n = 0; n < collections; n += 1) await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    inVain = usedSize < whole ? 0 : inVain + 1;
    whole = Math.min(whole, usedSize);
    await page.waitForTimeout(betweenMs);
  }
  const all = [];
  for (let n = 0; n < snapshots; n += 1) all.push(await kinds(session));
  const [least = { objects: 0, engine: 0 }] = all.sort((a, b) => a.objects - b.objects);
  const { nodes } = await session.send('Memory.getDOMCounters');
  await session.detach();
  return { whole, ...least, nodes };
}
