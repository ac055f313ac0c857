// Deployments in MongoDB. The tenant's signing document (signing.ts) decides: it holds the current ones and counts all.
// The history keeps every deployment as a row, written after the document. A process that dies between the two writes
// leaves the current deployment out of the history. Nothing is lost: readers lay the document over the history. A
// deployment leaves the document only after the history contains it.

import type { Collection, Filter } from 'mongodb';
import type { DeploymentFilter, DeploymentPageRequest, DeploymentStore } from '../../src/deployment/port.ts';
import type { Deployment, Undeployment } from '../../src/deployment/record.ts';
import { rollbacksAmong } from '../../src/deployment/rules/versions.ts';
import type { KeyedMutex } from '../../src/shared/concurrency/keyed-mutex.ts';
import { type Env, isInFilter } from '../../src/shared/ids.ts';
import type { Page } from '../../src/shared/ports/page.ts';
import { stale, unlessTaken } from './failure.ts';
import { fieldOf, inEnvs, type Row } from './form.ts';
import { pageIn } from './page.ts';
import type { OrderedDeployment, SigningDocument } from './signing.ts';
import { decide, readVersioned } from './versioned-document.ts';

/** `asOf` is the document's revision that the row was copied from: an older copy never replaces a newer one. */
export type DeploymentRow = Row<OrderedDeployment> & { readonly asOf: number };

export interface DeploymentCollections {
  readonly signing: Collection<SigningDocument>;
  readonly deployments: Collection<DeploymentRow>;
}

export const bundleField = (bundleName: string): string => fieldOf(bundleName);
export const currentField = (env: string, bundleName: string): string => fieldOf(`${env}:${bundleName}`);

export const bare = ({ order: _order, ...deployment }: OrderedDeployment): Deployment => deployment;

const rowToPlaced = ({ _id, asOf: _asOf, ...rest }: DeploymentRow): OrderedDeployment => ({
  id: _id,
  ...rest,
});

/** The tenant's current deployments, by bundle name, then environment. */
export async function currentOfTenant(
  documents: Collection<SigningDocument>,
  tenantId: string,
): Promise<readonly OrderedDeployment[]> {
  const document = await readVersioned(documents, tenantId, ['current']);
  const byName = (a: OrderedDeployment, b: OrderedDeployment) =>
    a.bundleName < b.bundleName ? -1 : a.bundleName > b.bundleName ? 1 : a.env < b.env ? -1 : 1;
  return Object.values(document?.current ?? {}).sort(byName);
}

/**
 * History rows with the current ones, which may be newer than their rows or not be rows yet, laid over them; newest
 * first.
 */
export function overlay(
  current: readonly OrderedDeployment[],
  rows: readonly DeploymentRow[],
): readonly OrderedDeployment[] {
  const byId = new Map(rows.map((row) => [row._id, rowToPlaced(row)]));
  for (const deployment of current) byId.set(deployment.id, deployment);
  return [...byId.values()].sort((a, b) => b.order - a.order);
}

const lastSequence = (document: SigningDocument, field: string): number => document.sequences?.[field] ?? 0;

async function keep(
  c: DeploymentCollections,
  { id, ...rest }: OrderedDeployment,
  asOf: number,
): Promise<void> {
  const older = { _id: id, asOf: { $lt: asOf } };
  // Refused when what is there is as new.
  await unlessTaken(c.deployments.updateOne(older, { $set: { ...rest, asOf } }, { upsert: true }));
}

/**
 * Writes the end of a deployment before the document decides on it. The row then counts as newer than any copy from
 * this revision, and older than any from the next one: if the end is never decided on, a later copy replaces it.
 */
async function keepEnd(
  c: DeploymentCollections,
  id: string,
  revision: number,
  end: Pick<Deployment, 'undeployedAt' | 'undeployedBy'>,
): Promise<void> {
  const asOf = revision + 0.5;
  await c.deployments.updateOne({ _id: id, asOf: { $lte: asOf } }, { $set: { ...end, asOf } });
}

/** Those that a process did not write into the history before it died. */
async function withoutRow(
  c: DeploymentCollections,
  current: readonly OrderedDeployment[],
): Promise<readonly OrderedDeployment[]> {
  const ids = current.map(({ id }) => id);
  const rows = await c.deployments.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray();
  const inHistory = new Set(rows.map((row) => row._id));
  return current.filter(({ id }) => !inHistory.has(id));
}

/** The place of a deployment in the order; 0 for an unknown one, behind which there is nothing. */
async function orderOf(
  c: DeploymentCollections,
  current: readonly OrderedDeployment[],
  tenantId: string,
  id: string,
): Promise<number> {
  const own = current.find((one) => one.id === id);
  return own?.order ?? (await c.deployments.findOne({ _id: id, tenantId }))?.order ?? 0;
}

async function lastSequenceOf(
  c: DeploymentCollections,
  tenantId: string,
  env: Env,
  bundleName: string,
): Promise<number> {
  const field = currentField(env, bundleName);
  const document = await readVersioned(c.signing, tenantId, [`current.${field}`, `sequences.${field}`]);
  return document ? lastSequence(document, field) : 0;
}

async function deploy(
  c: DeploymentCollections,
  turn: KeyedMutex,
  hasVersion: (tenantId: string, name: string, version: number) => Promise<boolean>,
  deployment: Deployment,
  fence = 0,
): Promise<Deployment | 'no_version' | 'stale_key' | 'stale_sequence'> {
  if (!(await hasVersion(deployment.tenantId, deployment.bundleName, deployment.version)))
    return 'no_version';
  const field = currentField(deployment.env, deployment.bundleName);
  const path = `current.${field}`;
  const sequencePath = `sequences.${field}`;
  type Answer =
    | { readonly added: OrderedDeployment; readonly before?: OrderedDeployment; readonly asOf: number }
    | { readonly existing: OrderedDeployment }
    | 'no_version'
    | 'stale_key'
    | 'stale_sequence';
  const answer = await decide<SigningDocument, Answer>(
    turn,
    c.signing,
    deployment.tenantId,
    async (document) => {
      const before = document?.current?.[field];
      if (before?.id === deployment.id) return { answer: { existing: before } };
      const row = await c.deployments.findOne({ _id: deployment.id });
      if (row) return { answer: { existing: rowToPlaced(row) } };
      if (document === null || document.active.id !== deployment.signingKeyId) return { answer: 'stale_key' };
      if ((document.fences?.[deployment.env] ?? 0) > fence) throw stale();
      if ((document.removed?.[bundleField(deployment.bundleName)] ?? 0) >= deployment.version)
        return { answer: 'no_version' };
      if (deployment.sequence <= lastSequence(document, field)) return { answer: 'stale_sequence' };
      if (before) await keep(c, before, document.revision);
      const deployments = document.deployments + 1;
      const added: OrderedDeployment = { ...deployment, order: deployments };
      const set = {
        deployments,
        [path]: added,
        [sequencePath]: deployment.sequence,
        [`fences.${deployment.env}`]: fence,
      };
      return { answer: { added, ...(before ? { before } : {}), asOf: document.revision + 1 }, set };
    },
    ['active', 'deployments', path, sequencePath, `removed.${bundleField(deployment.bundleName)}`, 'fences'],
  );
  if (typeof answer === 'string') return answer;
  if ('existing' in answer) return bare(answer.existing);
  await keep(c, answer.added, answer.asOf);
  // Newer than an end that was written and never decided on: this deployment ended what came before it.
  if (answer.before) await keep(c, answer.before, answer.asOf);
  return bare(answer.added);
}

async function undeploy(
  c: DeploymentCollections,
  turn: KeyedMutex,
  tenantId: string,
  env: Env,
  bundleName: string,
  fence = 0,
  end?: Undeployment,
): Promise<Deployment | null> {
  const field = currentField(env, bundleName);
  const path = `current.${field}`;
  const sequencePath = `sequences.${field}`;
  return decide<SigningDocument, Deployment | null>(
    turn,
    c.signing,
    tenantId,
    async (document) => {
      const before = document?.current?.[field];
      if (!document || !before) return { answer: null };
      if ((document.fences?.[env] ?? 0) > fence) throw stale();
      // Nothing leaves the document before it is in the history, with its end.
      await keep(c, before, document.revision);
      if (end) await keepEnd(c, before.id, document.revision, { undeployedAt: end.at, undeployedBy: end.by });
      const set = { [sequencePath]: lastSequence(document, field), [`fences.${env}`]: fence };
      return { answer: bare(before), set, unset: [path] };
    },
    [path, sequencePath, 'fences'],
  );
}

async function wasDeployed(
  c: DeploymentCollections,
  tenantId: string,
  env: Env,
  bundleName: string,
  version: number,
): Promise<boolean> {
  const field = currentField(env, bundleName);
  const document = await readVersioned(c.signing, tenantId, [`current.${field}`]);
  if (document?.current?.[field]?.version === version) return true;
  const row = { tenantId, bundleName, env, version };
  return (await c.deployments.findOne(row, { projection: { _id: 1 } })) !== null;
}

async function lastDeployment(
  c: DeploymentCollections,
  tenantId: string,
  bundleName: string,
  version: number,
): Promise<Deployment | null> {
  // The document first: what leaves it after this reading is in the history already.
  const current = (await currentOfTenant(c.signing, tenantId)).filter(
    (one) => one.bundleName === bundleName && one.version === version,
  );
  const row = await c.deployments.findOne({ tenantId, bundleName, version }, { sort: { order: -1 } });
  const all = [...current, ...(row ? [rowToPlaced(row)] : [])];
  const [newest] = all.sort((a, b) => (a.order < b.order ? 1 : -1));
  return newest ? bare(newest) : null;
}

function attest(
  c: DeploymentCollections,
  turn: KeyedMutex,
  { id, tenantId, env, bundleName, signingKeyId, attestation }: Deployment,
): Promise<void> {
  const field = currentField(env, bundleName);
  const path = `current.${field}`;
  return decide<SigningDocument, void>(
    turn,
    c.signing,
    tenantId,
    (document) => {
      const running = document?.current?.[field];
      const lacks = running?.id === id && running.signingKeyId === signingKeyId && !running.attestation;
      return { answer: undefined, ...(lacks ? { set: { [`${path}.attestation`]: attestation } } : {}) };
    },
    [path],
  );
}

async function deploymentOf(
  c: DeploymentCollections,
  tenantId: string,
  id: string,
): Promise<Deployment | null> {
  const current = (await currentOfTenant(c.signing, tenantId)).find((deployment) => deployment.id === id);
  if (current) return bare(current);
  const row = await c.deployments.findOne({ _id: id, tenantId });
  return row && bare(rowToPlaced(row));
}

async function listDeployments(
  c: DeploymentCollections,
  tenantId: string,
  filter: DeploymentFilter,
  { limit, offset, after = null }: DeploymentPageRequest,
): Promise<Page<Deployment>> {
  const { env = null, bundleName } = filter;
  // The document first: what leaves it after this reading is in the history already.
  const all = await currentOfTenant(c.signing, tenantId);
  const last = after === null ? null : await orderOf(c, all, tenantId, after);
  const isListed = (d: OrderedDeployment): boolean =>
    isInFilter(env, d.env) &&
    (bundleName === undefined || d.bundleName === bundleName) &&
    isWithin(d, filter) &&
    (last === null || d.order < last);
  const current = all.filter(isListed);
  const rowless = await withoutRow(c, current);
  // Those without a row move the rows after them further back, by as many at most.
  const skip = Math.max(0, offset - rowless.length);
  const rows = await c.deployments
    .find({
      tenantId,
      ...inEnvs(env),
      ...(bundleName === undefined ? {} : { bundleName }),
      ...(last === null ? {} : { order: { $lt: last } }),
      ...withinRange(filter),
    })
    .sort({ order: -1 })
    .skip(skip)
    .limit(limit + 1 + rowless.length)
    .toArray();
  const ids = new Set(rows.map((row) => row._id));
  // Behind skipped rows it is not known where one of these stands, but that it stands before the page.
  const newest = rows[0]?.order ?? 0;
  const passed = skip === 0 ? [] : rowless.filter((d) => d.order > newest);
  // A row may contain an end that was never decided on: the document wins.
  const listed = all.filter((d) => ids.has(d.id) || (rowless.includes(d) && !passed.includes(d)));
  return pageIn(overlay(listed, rows), { limit, offset: offset - skip - passed.length }, bare);
}

async function rollbacksIn(
  c: DeploymentCollections,
  tenantId: string,
  deployments: readonly Deployment[],
): Promise<ReadonlySet<string>> {
  const names = [...new Set(deployments.map(({ bundleName }) => bundleName))];
  const rows = await c.deployments
    .find(
      { tenantId, bundleName: { $in: names } },
      { projection: { env: 1, bundleName: 1, version: 1, sequence: 1 } },
    )
    .sort({ order: -1 })
    .limit(maxCompared)
    .toArray();
  return rollbacksAmong(deployments, rows);
}

export const mongoDeployments = (
  c: DeploymentCollections,
  turn: KeyedMutex,
  hasVersion: (tenantId: string, name: string, version: number) => Promise<boolean>,
): DeploymentStore => ({
  getLastSequence: (tenantId, env, bundleName) => lastSequenceOf(c, tenantId, env, bundleName),
  deploy: (deployment, fence) => deploy(c, turn, hasVersion, deployment, fence),
  undeploy: (tenantId, env, bundleName, fence, end) =>
    undeploy(c, turn, tenantId, env, bundleName, fence, end),
  wasDeployed: (tenantId, env, bundleName, version) => wasDeployed(c, tenantId, env, bundleName, version),
  getLast: (tenantId, bundleName, version) => lastDeployment(c, tenantId, bundleName, version),
  attest: (deployment) => attest(c, turn, deployment),
  async listCurrent(tenantId, env) {
    return (await currentOfTenant(c.signing, tenantId)).filter((d) => d.env === env).map(bare);
  },
  async getCurrent(tenantId, env, bundleName) {
    const field = currentField(env, bundleName);
    const active = (await readVersioned(c.signing, tenantId, [`current.${field}`]))?.current?.[field];
    return active ? bare(active) : null;
  },
  async listAllCurrent(tenantId) {
    return (await currentOfTenant(c.signing, tenantId)).map(bare);
  },
  get: (tenantId, id) => deploymentOf(c, tenantId, id),
  list: (tenantId, filter, page) => listDeployments(c, tenantId, filter, page),
  listRollbacks: (tenantId, deployments) => rollbacksIn(c, tenantId, deployments),
});

/** Deployments that are compared in the search for roll-backs, the newest. */
const maxCompared = 20_000;

const rangeOf = ({ since, until }: DeploymentFilter) => ({
  ...(since === undefined ? {} : { $gte: since }),
  ...(until === undefined ? {} : { $lt: until }),
});

const withinRange = (filter: DeploymentFilter): Filter<DeploymentRow> => {
  const range = rangeOf(filter);
  return Object.keys(range).length === 0 ? {} : { $or: [{ createdAt: range }, { undeployedAt: range }] };
};

/** The same for a current deployment, which has no end. */
const isWithin = ({ createdAt }: Deployment, { since, until }: DeploymentFilter): boolean =>
  (since === undefined || createdAt >= since) && (until === undefined || createdAt < until);
