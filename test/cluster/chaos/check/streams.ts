// Judges streams: ids that rise, versions that never go back, nothing left out without a word. Pure.
import { comparePositions, isPosition } from '../../../../src/shared/position.ts';
import type { Followed, SeenFrame } from '../follower.ts';

/** Below 0: a before b. A text that is no position is after everything, so that it is found. */
export function compare(a: string, b: string): number {
  if (isPosition(a) !== isPosition(b)) return isPosition(a) ? -1 : 1;
  return comparePositions(a, b);
}

const isShared = ({ id, type }: SeenFrame): boolean => !id.includes('.') && type !== 'resync';

/** Ids rise strictly on every connection, and go on after the Last-Event-ID, unless a resync says that they do not. */
export function checkOrder({ name, connections, frames }: Followed): string[] {
  const violations: string[] = [];
  const flagged = new Set(frames.filter(({ type }) => type === 'resync').map(({ connection }) => connection));
  for (const [i, frame] of frames.entries()) {
    const last = frames[i - 1];
    if (last?.connection === frame.connection) {
      if (compare(frame.id, last.id) <= 0) {
        violations.push(
          `${name}: ${frame.id} (${frame.type}) came after ${last.id} (${last.type}) on one connection`,
        );
      }
    } else {
      const after = connections[frame.connection]?.after ?? null;
      if (after !== null && !flagged.has(frame.connection) && compare(frame.id, after) <= 0) {
        violations.push(
          `${name}: ${frame.id} (${frame.type}) came on a connection that goes on after ${after}`,
        );
      }
    }
  }
  return violations;
}

interface Step {
  readonly index: number;
  readonly version: number;
  readonly connection: number;
}

/**
 * Versions of the bundle, each deployed once and in rising order: never back; and none left out while connected, which
 * only a connection that begins (it gets the newest) and a resync may do.
 */
export function checkVersions({ name, frames }: Followed, deployed: readonly number[]): string[] {
  const violations: string[] = [];
  const place = new Map(deployed.map((version, i) => [version, i]));
  let last = null as Step | null;
  for (const { type, data, connection } of frames) {
    if (type === 'resync') last = null;
    if (type !== 'contract_update') continue;
    const index = place.get(data.version);
    if (index === undefined) {
      violations.push(`${name}: version ${data.version} was never deployed`);
      continue;
    }
    if (last && index < last.index) {
      violations.push(`${name}: went back from version ${last.version} to ${data.version}`);
    }
    if (last?.connection === connection && index > last.index + 1) {
      violations.push(
        `${name}: got ${data.version} after ${last.version} on one connection, and none between`,
      );
    }
    last = { index, version: data.version, connection };
  }
  return violations;
}

interface DeployedAt {
  readonly version: number;
  /** When its deploy was answered; epoch ms. */
  readonly until: number;
}

/** How long a connection may last without the newest version before that is a fault, in ms. */
const deafMs = 5000;

/**
 * An agent that comes back is brought to the newest version that was deployed before it asked, or a newer one: by the
 * first frame of the connection, or because it has it. Versions between are left out on purpose: a newer frame of a
 * bundle replaces an older one.
 */
export function checkCatchUp(
  { name, connections, frames }: Followed,
  deployed: readonly DeployedAt[],
): string[] {
  const violations: string[] = [];
  const place = new Map(deployed.map(({ version }, i) => [version, i]));
  const updates = frames.filter(({ type }) => type === 'contract_update');
  let has = -1;
  for (const [i, { askedAt, openedAt, endedAt }] of connections.entries()) {
    const own = updates.filter(({ connection }) => connection === i);
    const due = deployed.findLastIndex(({ until }) => until < askedAt);
    const first = own[0] ? (place.get(own[0].data.version) ?? -1) : null;
    if (first !== null && first < due)
      violations.push(
        `${name}: asked after version ${deployed[due]?.version}, was given ${own[0]?.data.version}`,
      );
    const lasted = (endedAt ?? Number.POSITIVE_INFINITY) - openedAt;
    if (first === null && has < due && lasted > deafMs)
      violations.push(`${name}: was ${lasted} ms on a connection without version ${deployed[due]?.version}`);
    has = Math.max(has, ...own.map(({ data }) => place.get(data.version) ?? -1));
  }
  return violations;
}

/** A follower that was connected all the time was told of every version. */
export function checkAllTold({ name, frames }: Followed, versions: readonly number[]): string[] {
  const told = new Set(
    frames.flatMap(({ type, data }) => (type === 'contract_update' ? [data.version] : [])),
  );
  return versions.flatMap((version) => (told.has(version) ? [] : [`${name}: was never told of ${version}`]));
}

/** When each first had this version, epoch ms; for ever late where it never had. */
export const arrivals = (followers: readonly Followed[], version: number): number[] =>
  followers.map(
    ({ frames }) =>
      frames.find(({ type, data }) => type === 'contract_update' && data.version === version)?.at ??
      Number.POSITIVE_INFINITY,
  );

/**
 * Followers of one audience, none of which is sent less than another: between the first and the last frame that a
 * follower saw without a resync it saw every frame that any other saw there.
 */
export function checkReplay(followers: readonly Followed[]): string[] {
  const all = new Map<string, string>();
  for (const { frames } of followers) for (const f of frames) if (isShared(f)) all.set(f.id, f.type);
  const order = [...all.keys()].sort(compare);
  const violations: string[] = [];
  for (const { name, frames } of followers) {
    const seen = new Set(frames.filter(isShared).map(({ id }) => id));
    for (const [first, last] of spans(frames)) {
      for (const id of order) {
        if (compare(id, first) <= 0 || compare(id, last) >= 0 || seen.has(id)) continue;
        violations.push(
          `${name}: never got ${id} (${all.get(id)}), which others got, between ${first} and ${last}`,
        );
      }
    }
  }
  return violations;
}

/** First and last shared id of every stretch that no resync interrupts. */
function spans(frames: readonly SeenFrame[]): (readonly [string, string])[] {
  const out: (readonly [string, string])[] = [];
  let first = null as string | null;
  let last = null as string | null;
  const end = () => {
    if (first !== null && last !== null) out.push([first, last]);
    first = null;
    last = null;
  };
  const flagged = new Set(frames.filter(({ type }) => type === 'resync').map(({ connection }) => connection));
  let connection = -1;
  for (const frame of frames) {
    if (frame.connection !== connection && flagged.has(frame.connection)) end();
    connection = frame.connection;
    if (!isShared(frame)) continue;
    first ??= frame.id;
    last = frame.id;
  }
  end();
  return out;
}
