// Gives documents of schema 1 the fields that some lack. Every write can be repeated.
import type { AnyBulkWriteOperation, Collection, Db, Document } from 'mongodb';
import { adminRoles, type EnvRole, isAdmin, memberRoles } from '../../src/shared/env-roles.ts';
import { environments } from '../../src/shared/ids.ts';
import { type EventRow, toEvent, toEventRow } from './event-filter.ts';

/** Documents of one bulk write. */
const maxDocuments = 500;

const deploymentFields = {
  attestation: null,
  forced: false,
  reason: null,
  documentKind: null,
  undeployedAt: null,
  undeployedBy: null,
};

/** Values of absent fields, by collection. */
const defaults: { readonly [collection: string]: { readonly [field: string]: unknown } } = {
  agents: { retiredAt: null, lastApi: null, loadsAny: false, seenEnvs: [] },
  approvals: { context: { contracts: null, principal: null, sessionId: null, callId: null } },
  approvalArgs: { keyId: null },
  bundles: { mode: null, description: null },
  deployments: deploymentFields,
  keys: { agentPattern: null, expiresAt: null },
  logins: { network: null, browser: null, method: null, providerSession: null },
};

type Update = { readonly $set?: Document; readonly $unset?: Document };

/** Updates documents of a filter, each by its own content. @param of null: the document stays */
async function updateEach(
  collection: Collection<Document>,
  filter: Document,
  of: (document: Document) => Update | null,
): Promise<void> {
  let writes: AnyBulkWriteOperation<Document>[] = [];
  const write = async (): Promise<void> => {
    if (writes.length > 0) await collection.bulkWrite(writes, { ordered: false });
    writes = [];
  };
  for await (const document of collection.find(filter)) {
    const update = of(document);
    if (update) writes.push({ updateOne: { filter: { _id: document._id }, update } });
    if (writes.length === maxDocuments) await write();
  }
  await write();
}

/** Values of a map that lack fields of `values`, as paths under `path`. */
function absentIn(path: string, map: Document, values: Document): Document {
  const absent = Object.entries(map).flatMap(([key, value]) =>
    Object.entries(values).flatMap(([field, filled]) =>
      (value as Document)[field] === undefined ? [[`${path}.${key}.${field}`, filled]] : [],
    ),
  );
  return Object.fromEntries(absent);
}

/** The current deployments of a tenant, and the sequence of each. */
function signingUpdate({ current = {}, sequences = {} }: Document): Update | null {
  const $set = absentIn('current', current, deploymentFields);
  for (const [field, { sequence }] of Object.entries<Document>(current))
    if (!(sequences[field] >= sequence)) $set[`sequences.${field}`] = sequence;
  return Object.keys($set).length === 0 ? null : { $set };
}

function libraryUpdate({ compositions = {} }: Document): Update | null {
  const $set = absentIn('compositions', compositions, { documentKind: null });
  return Object.keys($set).length === 0 ? null : { $set };
}

/** `isMarked` decides where it contradicts the roles. */
const rolesOf = (isMarked: boolean, roles: readonly EnvRole[] | null | undefined): readonly EnvRole[] =>
  roles && isAdmin(roles) === isMarked ? roles : isMarked ? adminRoles : memberRoles;

/** A change of a tenant's users that was entered and not carried out. */
function changeUpdate({ change }: Document): Update {
  const roles = change.isAdmin === null ? null : rolesOf(change.isAdmin, change.roles);
  return { $set: { 'change.roles': roles }, $unset: { 'change.isAdmin': '' } };
}

/** The parts of an event's payload that filters and searches read. */
function eventUpdate(document: Document): Update | null {
  const row = document as unknown as EventRow;
  const { texts, runId, policyVersion } = toEventRow(toEvent(row), row, row._id);
  const $set = Object.entries({ texts, runId, policyVersion }).filter(
    ([field, value]) => value !== undefined && document[field] === undefined,
  );
  return $set.length === 0 ? null : { $set: Object.fromEntries($set) };
}

const eventsWithoutFields = {
  $or: [
    { texts: { $exists: false }, payload: { $type: 'string' } },
    { runId: { $exists: false }, payload: { $regex: '"run_id":' } },
    { policyVersion: { $exists: false }, payload: { $regex: '"policy_version":' } },
  ],
};

export async function fillFields(db: Db): Promise<void> {
  for (const [name, fields] of Object.entries(defaults))
    for (const [field, value] of Object.entries(fields))
      await db.collection(name).updateMany({ [field]: { $exists: false } }, { $set: { [field]: value } });
  const agents = db.collection<{ readonly lastEnv: string; readonly seenEnvs: string[] }>('agents');
  for (const env of environments)
    await agents.updateMany({ lastEnv: env, seenEnvs: { $ne: env } }, { $addToSet: { seenEnvs: env } });
  const each = (name: string, filter: Document, of: (document: Document) => Update | null) =>
    updateEach(db.collection(name), filter, of);
  await each('logins', { lastSeenAt: { $exists: false } }, ({ createdAt }) => ({
    $set: { lastSeenAt: createdAt },
  }));
  await each('approvals', { argsBytes: { $exists: false } }, ({ toolArgs }) => ({
    $set: { argsBytes: Buffer.byteLength(toolArgs ?? '') },
  }));
  await each('users', { isAdmin: { $exists: true } }, ({ isAdmin: isMarked, roles }) => ({
    $set: { roles: rolesOf(isMarked, roles) },
    $unset: { isAdmin: '' },
  }));
  await each('tenants', { 'change.isAdmin': { $exists: true } }, changeUpdate);
  await each('signing', {}, signingUpdate);
  await each('libraries', {}, libraryUpdate);
  await each('events', eventsWithoutFields, eventUpdate);
}
