// The registration of an agent that is seen: made, moved on, or brought back from retirement, in the transaction of the
// caller.

import type { AgentStore } from '../../src/agent/port.ts';
import type { Registration } from '../../src/agent/record.ts';
import { fromManifestJson, type ManifestJson, toManifestJson } from '../../src/event/record/json.ts';
import type { StoredManifest } from '../../src/event/record.ts';
import { type Env, environments } from '../../src/shared/ids.ts';
import type { AgentApi, SeenOn } from '../../src/shared/vocabulary.ts';
import type { Database } from './database.ts';
import { type Column, flag, json, number, table, text } from './table.ts';

const envBit = (env: Env): number => 1 << environments.indexOf(env);

/** Environments as bits of a number, the first in their order lowest. */
const envBits = (name: string): Column<readonly Env[]> => ({
  name,
  write: (envs) => envs.reduce((bits, env) => bits | envBit(env), 0),
  read: (bits) => environments.filter((env) => (Number(bits) & envBit(env)) !== 0),
});

/** The text of a manifest as the table keeps it. */
export const manifestText = (manifest: StoredManifest): string => JSON.stringify(toManifestJson(manifest));
export const readManifest = (text: string): StoredManifest =>
  fromManifestJson(JSON.parse(text) as ManifestJson);

const manifestColumn: Column<StoredManifest | null> = {
  name: 'manifest',
  write: (manifest) => manifest && manifestText(manifest),
  read: (text) => (typeof text === 'string' ? readManifest(text) : null),
};

export const listed = {
  id: text('id'),
  tenantId: text('tenant_id'),
  agentId: text('agent_id'),
  displayName: text<string | null>('display_name'),
  tags: json<Registration['tags']>('tags'),
  bundleName: text<string | null>('bundle_name'),
  lastEnv: text<Env | null>('last_env'),
  seenEnvs: envBits('seen_envs'),
  lastSeenAt: number<number | null>('last_seen_at'),
  createdAt: number('created_at'),
  retiredAt: number<number | null>('retired_at'),
  lastApi: text<AgentApi | null>('last_api'),
  loadsAny: flag('loads_any'),
};

export const registrations = table<Registration>('registrations', {
  ...listed,
  manifest: manifestColumn,
});

interface Seen {
  readonly tenantId: string;
  readonly agentId: string;
  readonly env: Env;
  readonly now: number;
  readonly on: SeenOn | undefined;
}

/** Sets what an agent speaks, as far as it is known. */
const speaks = (api: string, loadsAny: string): string =>
  `last_api = ifnull(${api}, last_api), loads_any = ifnull(${loadsAny}, loads_any)`;

export const registrationOf =
  (db: Database) =>
  (tenantId: string, agentId: string): Registration | null =>
    registrations.maybe(
      db.get(`SELECT ${registrations.columns} FROM registrations WHERE tenant_id = ? AND agent_id = ?`, [
        tenantId,
        agentId,
      ]),
    );

/** Makes `AgentStore.seen`. */
export function agentSeen(
  db: Database,
): (...args: Parameters<AgentStore['seen']>) => Awaited<ReturnType<AgentStore['seen']>> {
  const get = registrationOf(db);

  /** Null when there is one. */
  function add({ tenantId, agentId, env, now, on }: Seen, id: string): Registration | null {
    const added: Registration = {
      id,
      tenantId,
      agentId,
      displayName: null,
      tags: {},
      bundleName: null,
      manifest: null,
      lastEnv: env,
      seenEnvs: [env],
      lastSeenAt: now,
      createdAt: now,
      retiredAt: null,
      lastApi: on?.api ?? null,
      loadsAny: on?.loadsAny ?? false,
    };
    const insert = `${registrations.insert} ON CONFLICT (tenant_id, agent_id) DO NOTHING`;
    return db.run(insert, registrations.values(added)) === 1 ? added : null;
  }

  /** One that was seen later than now keeps that, but was in this environment, too. */
  function withEnv(registration: Registration, env: Env): Registration {
    if (registration.seenEnvs.includes(env)) return registration;
    const noted = `UPDATE registrations SET seen_envs = seen_envs | ? WHERE id = ? RETURNING ${registrations.columns}`;
    return registrations.maybe(db.get(noted, [envBit(env), registration.id])) ?? registration;
  }

  return (tenantId, agentId, env, now, newId, on) => {
    const spoken = [on?.api ?? null, on?.loadsAny === undefined ? null : Number(on.loadsAny)];
    const row = db.get(
      `UPDATE registrations SET last_env = ?1, last_seen_at = ?2, seen_envs = seen_envs | ?7, ${speaks('?5', '?6')}
           WHERE tenant_id = ?3 AND agent_id = ?4
           AND retired_at IS NULL AND ifnull(last_seen_at, ?2) <= ?2 RETURNING ${registrations.columns}`,
      [env, now, tenantId, agentId, ...spoken, envBit(env)],
    );
    if (row) return { registration: registrations.read(row), made: false };
    const added = newId === null ? null : add({ tenantId, agentId, env, now, on }, newId);
    if (added) return { registration: added, made: true };
    const agent = get(tenantId, agentId);
    if (agent !== null && agent.retiredAt === null) return { registration: withEnv(agent, env), made: false };
    if (newId === null || agent === null) return { registration: agent, made: false };
    const back = db.get(
      `UPDATE registrations SET last_env = ?1, last_seen_at = ?2, retired_at = NULL, seen_envs = seen_envs | ?6,
           ${speaks('?4', '?5')} WHERE id = ?3 RETURNING ${registrations.columns}`,
      [env, now, agent.id, ...spoken, envBit(env)],
    );
    return { registration: registrations.maybe(back), made: true };
  };
}
