// Many followers at once: agents and dashboards of a tenant. Opens, cuts and ends them; judges nothing.
import type { Random } from '../../random.ts';
import { eventually } from '../nodes.ts';
import type { Node } from './caller.ts';
import type { Fleet } from './fleet.ts';
import { Follower, type SeenFrame } from './follower.ts';
import type { Env, Tenant } from './tenant.ts';

export type Listener = (frame: SeenFrame, follower: Follower) => void;

/** Agents of one key, named `<prefix><n>`, each spread over the nodes by chance. They say which version they run. */
export function agents(
  fleet: Fleet,
  key: string,
  count: number,
  random: Random,
  options: {
    readonly env?: Env;
    readonly prefix?: string;
    readonly on?: Node;
    readonly onFrame?: Listener;
  } = {},
): Follower[] {
  const { env = 'production', prefix = 'agent-', on, onFrame } = options;
  return Array.from({ length: count }, (_, n) => {
    const name = `${prefix}${n}`;
    const chance = random.branch(name);
    return new Follower({
      name,
      path: ({ revision }) =>
        `/api/v1/stream?env=${env}${revision === null ? '' : `&policy_version=${revision}`}`,
      headers: { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': name },
      route: () => on ?? fleet.route(chance),
      random: chance,
      ...(onFrame ? { onFrame } : {}),
    });
  });
}

/** One dashboard per node; each stays with its node, and comes back to it. */
export function dashboards(fleet: Fleet, tenant: Tenant, random: Random, onFrame?: Listener): Follower[] {
  return fleet.nodes.map(
    (node) =>
      new Follower({
        name: `dashboard-${node.name}`,
        path: () => '/api/v1/stream/dashboard',
        headers: { Cookie: tenant.cookie },
        route: () => node,
        random: random.branch(`dashboard-${node.name}`),
        ...(onFrame ? { onFrame } : {}),
      }),
  );
}

/** Starts them a few at a time and resolves when every one is open. */
export async function open(followers: readonly Follower[], ms = 30_000): Promise<void> {
  const atOnce = 50;
  for (let from = 0; from < followers.length; from += atOnce) {
    const some = followers.slice(from, from + atOnce);
    for (const follower of some) {
      opened.add(follower);
      follower.start();
    }
    await allOpen(some, ms);
  }
}

/** Those that were opened and not closed: a run that is stopped half-way must not leave them calling. */
const opened = new Set<Follower>();

export const allOpen = (followers: readonly Follower[], ms = 30_000) =>
  eventually(
    `${followers.length} streams are open`,
    () => (followers.every((follower) => follower.open) ? true : undefined),
    ms,
  );

/** Resolves when all run this version, with the milliseconds it took; the names of those that do not after `ms`. */
export async function allOn(
  followers: readonly Follower[],
  version: number,
  ms: number,
): Promise<{ readonly tookMs: number; readonly behind: readonly string[] }> {
  const behind = () => followers.filter((follower) => follower.version !== version);
  const begun = performance.now();
  await eventually('all run it', () => (behind().length === 0 ? true : undefined), ms).catch(() => {});
  return {
    tookMs: performance.now() - begun,
    behind: behind().map(
      ({ name, version: has, open: isOpen }) => `${name} has ${has}${isOpen ? '' : ', not connected'}`,
    ),
  };
}

export function close(followers: Iterable<Follower>): void {
  for (const follower of followers) {
    follower.stop();
    opened.delete(follower);
  }
}

export const closeAll = (): void => close([...opened]);
