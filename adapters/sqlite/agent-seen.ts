// The registration of an agent that is seen: made, moved on, or brought back from retirement, in the transaction of the
// caller.

import type { AgentStore, SeenAgent, SeenRegistration } from '../../src/agent/port.ts';
import {
  newRegistration,
  type Registration,
  type RegistrationSummary,
  registrationRecord,
} from '../../src/agent/record.ts';
import { type Env, environments } from '../../src/shared/ids.ts';
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

const assignmentFields: ReadonlySet<string> = new Set<keyof SeenRegistration>([
  'bundleName',
  'tags',
  'retiredAt',
]);
const assignments = tableOf<SeenRegistration>({
  name,
  columns: columns.filter(({ field }) => assignmentFields.has(field)),
});

export const registrationOf =
  (db: Database) =>
  (tenantId: string, agentId: string): Registration | null =>
    registrations.maybe(
      db.get(`SELECT ${registrations.columns} FROM registrations WHERE tenant_id = ? AND agent_id = ?`, [
        tenantId,
        agentId,
      ]),
    );

/** Answers for nearly all agents: a message to the event loop contains each of them once. */
const unassigned: SeenRegistration = { bundleName: null, tags: {}, retiredAt: null };
const answers = {
  newAgent: { registration: unassigned, isNew: true },
  oldAgent: { registration: unassigned, isNew: false },
} as const satisfies { readonly [name: string]: SeenAgent };

function answerOf(registration: SeenRegistration | null): SeenAgent {
  const isUnassigned =
    registration?.bundleName === null &&
    registration.retiredAt === null &&
    Object.keys(registration.tags).length === 0;
  return isUnassigned ? answers.oldAgent : { registration, isNew: false };
}

// Made once: a text that is joined at each call is also hashed at each call, to find its prepared statement.
const setVocabulary = (api: string, loadsAny: string): string =>
  `last_api = ifnull(${api}, last_api), loads_any = ifnull(${loadsAny}, loads_any)`;
const statements = {
  move: `UPDATE registrations SET last_env = ?1, last_seen_at = ?2, seen_envs = seen_envs | ?7,
           ${setVocabulary('?5', '?6')} WHERE tenant_id = ?3 AND agent_id = ?4
           AND retired_at IS NULL AND ifnull(last_seen_at, ?2) <= ?2 RETURNING ${assignments.columns}`,
  /** Adds none when there is one. */
  add: `${registrations.insert} ON CONFLICT (tenant_id, agent_id) DO NOTHING`,
  addEnv: 'UPDATE registrations SET seen_envs = seen_envs | ? WHERE id = ?',
  bringBack: `UPDATE registrations SET last_env = ?1, last_seen_at = ?2, retired_at = NULL, seen_envs = seen_envs | ?6,
           ${setVocabulary('?4', '?5')} WHERE id = ?3 RETURNING ${assignments.columns}`,
};

/** Makes `AgentStore.noteSeen`. */
export function agentSeen(db: Database): (...args: Parameters<AgentStore['noteSeen']>) => SeenAgent {
  const get = registrationOf(db);

  return (tenantId, agentId, env, now, newId, on) => {
    const vocabulary = [on?.api ?? null, on?.loadsAny === undefined ? null : Number(on.loadsAny)];
    const row = db.get(statements.move, [env, now, tenantId, agentId, ...vocabulary, envBit(env)]);
    if (row) return answerOf(assignments.read(row));
    if (newId !== null) {
      const added = newRegistration({ tenantId, agentId, env, now, on, id: newId });
      if (db.run(statements.add, registrations.values(added)) === 1) return answers.newAgent;
    }
    const agent = get(tenantId, agentId);
    if (agent === null) return answerOf(null);
    const { id, bundleName, tags, retiredAt } = agent;
    if (retiredAt === null) {
      // One that was seen later than now keeps that, but was in this environment, too.
      if (!agent.seenEnvs.includes(env)) db.run(statements.addEnv, [envBit(env), id]);
      return answerOf({ bundleName, tags, retiredAt });
    }
    if (newId === null) return answerOf({ bundleName, tags, retiredAt });
    const back = db.get(statements.bringBack, [env, now, id, ...vocabulary, envBit(env)]);
    return { registration: assignments.maybe(back), isNew: true };
  };
}
