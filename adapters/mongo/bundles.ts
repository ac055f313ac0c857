// Bundle versions in MongoDB: one document per version, its YAML included, under a unique (tenant, name, version). The
// insert decides: a writer that loses a number takes the next. Signatures are read from deployments, never kept here.

import { Binary, type Collection } from 'mongodb';
import type { BundleStore, NewBundle } from '../../src/bundle/port.ts';
import { type BundleSummary, type BundleVersion, bundleRecord } from '../../src/bundle/record.ts';
import type { KeyedMutex } from '../../src/shared/concurrency/keyed-mutex.ts';
import { groupBy } from '../../src/shared/group-by.ts';
import type { Env } from '../../src/shared/ids.ts';
import type { Page, PageRequest } from '../../src/shared/ports/page.ts';
import { bundleField, currentOfTenant, type DeploymentCollections, overlay } from './deployments.ts';
import { unavailable, unlessTaken } from './failure.ts';
import { toText } from './form.ts';
import { pageOf } from './page.ts';
import type { OrderedDeployment, SigningDocument } from './signing.ts';
import { decide } from './versioned-document.ts';

export type BundleRow = Omit<ReturnType<typeof bundleRecord.toDocument>, 'signature'> & {
  readonly yaml: Binary;
  /** Absent while it is there. */
  readonly deletedAt?: number;
};
type WithoutYaml = Omit<BundleRow, 'yaml'>;

export interface BundleCollections extends DeploymentCollections {
  readonly bundles: Collection<BundleRow>;
}

const attempts = 100;
const noYaml = { projection: { yaml: 0 } };

/** All versions, also those that were taken away. */
const everOf = (tenantId: string, name: string) => ({ tenantId, name });
const living = { deletedAt: { $exists: false } };
const ofBundle = (tenantId: string, name: string) => ({ ...everOf(tenantId, name), ...living });

const record = (row: WithoutYaml, signature: string | null): BundleVersion =>
  bundleRecord.fromDocument({ ...row, signature });

export const bundleHasVersion =
  (bundles: Collection<BundleRow>) =>
  async (tenantId: string, name: string, version: number): Promise<boolean> =>
    (await bundles.findOne({ ...ofBundle(tenantId, name), version }, { projection: { _id: 1 } })) !== null;

/** Current deployments of these versions, which a rotation signs again; then the newest of each. */
async function deployed(
  c: BundleCollections,
  tenantId: string,
  name: string,
  versions: readonly number[],
): Promise<readonly OrderedDeployment[]> {
  const current = (await currentOfTenant(c.signing, tenantId)).filter(
    (d) => d.bundleName === name && versions.includes(d.version),
  );
  const newest = await c.deployments
    .aggregate<{ readonly order: number }>([
      { $match: { tenantId, bundleName: name, version: { $in: versions } } },
      { $group: { _id: '$version', order: { $max: '$order' } } },
    ])
    .toArray();
  const orders = newest.map(({ order }) => order);
  const rows = await c.deployments.find({ tenantId, order: { $in: orders } }).toArray();
  return [...overlay(current, []), ...overlay([], rows)];
}

const signatureOf = (deployments: readonly OrderedDeployment[], version: number): string | null =>
  deployments.find((d) => d.version === version)?.signature ?? null;

/** @param after the newest version that must be there; null: whichever is */
function uploadVersion(
  c: BundleCollections,
  turn: KeyedMutex,
  { yaml, snapshot, id, ...bundle }: NewBundle,
  after: number | null,
): Promise<BundleVersion | 'changed'> {
  return turn(`bundles/${bundle.tenantId}/${bundle.name}`, async () => {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const stored = await c.bundles.findOne<WithoutYaml>({ _id: id }, noYaml);
      if (stored) {
        return record(
          stored,
          signatureOf(await deployed(c, stored.tenantId, stored.name, [stored.version]), stored.version),
        );
      }
      const newest = await c.bundles.findOne(everOf(bundle.tenantId, bundle.name), {
        projection: { version: 1, deletedAt: 1 },
        sort: { version: -1 },
      });
      // Deletion takes all versions there are: the newest is there, or none is.
      const there = newest && newest.deletedAt === undefined ? newest.version : 0;
      if (after !== null && there !== after) return 'changed';
      const row = { _id: id, ...bundle, version: (newest?.version ?? 0) + 1, snapshot: toText(snapshot) };
      if (await unlessTaken(c.bundles.insertOne({ ...row, yaml: new Binary(yaml) })))
        return record(row, null);
    }
    throw unavailable();
  });
}

async function versionOf(
  c: BundleCollections,
  tenantId: string,
  name: string,
  version: number,
): Promise<BundleVersion | null> {
  const filter = { ...ofBundle(tenantId, name), version };
  const row = await c.bundles.findOne<WithoutYaml>(filter, noYaml);
  return row && record(row, signatureOf(await deployed(c, tenantId, name, [version]), version));
}

async function versionsOf(
  c: BundleCollections,
  tenantId: string,
  name: string,
  page: PageRequest,
): Promise<Page<BundleVersion>> {
  const cursor = c.bundles.find<WithoutYaml>(ofBundle(tenantId, name), noYaml).sort({ version: -1 });
  const { items: rows, more } = await pageOf(cursor, page, (row) => row);
  const numbers = rows.map((row) => row.version);
  const deployments = await deployed(c, tenantId, name, numbers);
  return { items: rows.map((row) => record(row, signatureOf(deployments, row.version))), more };
}

async function summariesOn(
  c: BundleCollections,
  tenantId: string,
  env: Env | null,
  { limit, offset }: PageRequest,
  order: 'newest' | 'name' = 'newest',
): Promise<Page<BundleSummary>> {
  const current = await currentOfTenant(c.signing, tenantId);
  const here = env === null ? current : current.filter((d) => d.env === env);
  const of = env === null ? null : await everDeployed(c, tenantId, env, here);
  if (of?.length === 0) return { items: [], more: false };
  const groups = await c.bundles
    .aggregate<BundleGroup>([
      { $match: { tenantId, ...living, ...(of ? { $or: of } : {}) } },
      {
        $group: {
          _id: '$name',
          latestVersion: { $max: '$version' },
          versionCount: { $sum: 1 },
          lastUpdated: { $max: '$createdAt' },
        },
      },
      { $sort: order === 'name' ? { _id: 1 } : { lastUpdated: -1, _id: 1 } },
      { $skip: offset },
      { $limit: limit + 1 },
    ])
    .toArray();
  const onPage = groups.slice(0, limit);
  if (onPage.length === 0) return { items: [], more: false };
  const latest = await c.bundles
    .find(
      { tenantId, $or: onPage.map(({ _id, latestVersion }) => ({ name: _id, version: latestVersion })) },
      { projection: { name: 1, contractCount: 1 } },
    )
    .toArray();
  const counts = new Map(latest.map((row) => [row.name, row.contractCount]));
  const deployedAt = await lastDeployed(c, tenantId, env, [...counts.keys()]);
  const items = onPage.map(({ _id: name, ...sums }): BundleSummary => {
    const deployed = here.filter((d) => d.bundleName === name);
    return {
      name,
      ...sums,
      deployedEnvs: deployed.map((d) => d.env).sort(),
      contractCount: counts.get(name) ?? null,
      lastDeployedAt: latestOf([deployedAt.get(name), ...deployed.map((d) => d.createdAt)]),
    };
  });
  return { items, more: groups.length > limit };
}

async function removeBundle(
  c: BundleCollections,
  turn: KeyedMutex,
  tenantId: string,
  name: string,
  at: number,
  ifVersion?: number,
): Promise<'removed' | 'absent' | 'deployed' | 'changed'> {
  const newest = await c.bundles.findOne(ofBundle(tenantId, name), {
    projection: { version: 1 },
    sort: { version: -1 },
  });
  if (newest === null) return 'absent';
  const { version } = newest;
  if (ifVersion !== undefined && version !== ifVersion) return 'changed';
  const path = `removed.${bundleField(name)}`;
  // The document forbids deployments of these versions before their rows go: a process that dies between leaves
  // rows that a repeat removes.
  const answer = await decide<SigningDocument, 'forbidden' | 'deployed'>(
    turn,
    c.signing,
    tenantId,
    (document) => {
      const current = Object.values(document?.current ?? {});
      if (current.some(({ bundleName }) => bundleName === name)) return { answer: 'deployed' };
      // Without a signing key nothing was ever deployed.
      return { answer: 'forbidden', ...(document ? { set: { [path]: version } } : {}) };
    },
    ['current', path],
  );
  if (answer === 'deployed') return 'deployed';
  await c.bundles.updateMany(
    { ...ofBundle(tenantId, name), version: { $lte: version } },
    { $set: { deletedAt: at, yaml: new Binary(new Uint8Array()), snapshot: null } },
  );
  return 'removed';
}

export const mongoBundles = (c: BundleCollections, turn: KeyedMutex): BundleStore => ({
  upload: async (bundle) => (await uploadVersion(c, turn, bundle, null)) as BundleVersion,
  uploadAfter: (bundle, after) => uploadVersion(c, turn, bundle, after),
  getVersion: (tenantId, name, version) => versionOf(c, tenantId, name, version),
  listVersions: (tenantId, name, page) => versionsOf(c, tenantId, name, page),
  async getYaml(tenantId, name, version) {
    const row = await c.bundles.findOne(
      { ...ofBundle(tenantId, name), version },
      { projection: { yaml: 1 } },
    );
    return row === null ? null : new Uint8Array(row.yaml.buffer.subarray(0, row.yaml.position));
  },
  async listByRevision(tenantId, revisionHash) {
    const rows = c.bundles
      .find({ tenantId, revisionHash, ...living }, { projection: { name: 1, version: 1 } })
      .sort({ createdAt: -1, version: -1 })
      .limit(100);
    return (await rows.toArray()).map(({ name, version }) => ({ name, version }));
  },
  list: (tenantId, env, page, order) => summariesOn(c, tenantId, env, page, order),
  remove: (tenantId, name, at, ifVersion) => removeBundle(c, turn, tenantId, name, at, ifVersion),
});

/** The versions of one name. */
interface BundleGroup {
  readonly _id: string;
  readonly latestVersion: number;
  readonly versionCount: number;
  readonly lastUpdated: number;
}

const latestOf = (times: readonly (number | undefined)[]): number | null => {
  const definedTimes = times.filter((time) => time !== undefined);
  return definedTimes.length === 0 ? null : Math.max(...definedTimes);
};

/** Time of each bundle's last deployment, as far as the history contains one. */
async function lastDeployed(
  c: BundleCollections,
  tenantId: string,
  env: Env | null,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await c.deployments
    .aggregate<{ readonly _id: string; readonly at: number }>([
      { $match: { tenantId, bundleName: { $in: names }, ...(env === null ? {} : { env }) } },
      { $group: { _id: '$bundleName', at: { $max: '$createdAt' } } },
    ])
    .toArray();
  return new Map(rows.map(({ _id, at }) => [_id, at]));
}

/** Versions that were ever deployed in the environment, as one condition for each bundle. */
async function everDeployed(
  c: BundleCollections,
  tenantId: string,
  env: Env,
  current: readonly OrderedDeployment[],
): Promise<{ name: string; version: { $in: number[] } }[]> {
  const pairs = await c.deployments
    .aggregate<{ _id: { name: string; version: number } }>([
      { $match: { tenantId, env } },
      { $group: { _id: { name: '$bundleName', version: '$version' } } },
    ])
    .toArray();
  const versionKeys = [
    ...pairs.map(({ _id }) => _id),
    ...current.map((d) => ({ name: d.bundleName, version: d.version })),
  ];
  return [...groupBy(versionKeys, ({ name }) => name)].map(([name, keys]) => ({
    name,
    version: { $in: keys.map(({ version }) => version) },
  }));
}
