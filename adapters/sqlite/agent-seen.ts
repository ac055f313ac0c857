// The registration of an agent that is seen: made, moved on, or brought back from retirement, in the transaction of the
// caller.

import type { AgentStore } from '../../src/agent/port.ts';
import {
  newRegistration,
  type Registration,
  type RegistrationSummary,
  registrationRecord,
} from '../../src/agent/record.ts';
import { type Env, environments } from '../../src/shared/ids.ts';
import type { SeenOn } from '../../src/shared/vocabulary.ts';
import type { Database } from './database.ts';
import { type Column, tableOf } from './table.ts';

const envBit = (env: Env): number => 1 << environments.indexOf(env);

/** Environments as bits of a number, the first in their order lowest. */
const envBits = (name: string): Column<readonly Env[]> => ({
  name,
  write: (envs) => envs.reduce((bits, env) => bits | envBit(env), 0),
  read: (bits) => environments.filter((env) => (Number(bits) & envBit(env)) !== 0),
});

type OwnColumns = Pick<Registration, 'seenEnvs'>;
const own = { seenEnvs: envBits('seen_envs') };
export const registrations = tableOf<Registration, OwnColumns>(registrationRecord, own);

const { name, columns } = registrationRecord;
const listed = { name, columns: columns.filter(({ field }) => field !== 'manifest') };
export const summaries = tableOf<RegistrationSummary, OwnColumns>(listed, own);

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

/** Makes `AgentStore.noteSeen`. */
export function agentSeen(
  db: Database,
): (...args: Parameters<AgentStore['noteSeen']>) => Awaited<ReturnType<AgentStore['noteSeen']>> {
  const get = registrationOf(db);

  /** Null when there is one. */
  function add(seenAgent: Seen, id: string): Registration | null {
    const added = newRegistration({ ...seenAgent, id });
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
    if (row) return { registration: registrations.read(row), isNew: false };
    const added = newId === null ? null : add({ tenantId, agentId, env, now, on }, newId);
    if (added) return { registration: added, isNew: true };
    const agent = get(tenantId, agentId);
    if (agent !== null && agent.retiredAt === null)
      return { registration: withEnv(agent, env), isNew: false };
    if (newId === null || agent === null) return { registration: agent, isNew: false };
    const back = db.get(
      `UPDATE registrations SET last_env = ?1, last_seen_at = ?2, retired_at = NULL, seen_envs = seen_envs | ?6,
           ${speaks('?4', '?5')} WHERE id = ?3 RETURNING ${registrations.columns}`,
      [env, now, agent.id, ...spoken, envBit(env)],
    );
    return { registration: registrations.maybe(back), isNew: true };
  };
}
