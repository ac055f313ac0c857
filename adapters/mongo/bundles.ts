// Bundle versions in MongoDB: one document per version, its YAML included, under a unique (tenant, name, version). The insert decides:
// whoever loses a number takes the next. Signatures are read from the deployments, never kept here.
import { Binary, type Collection } from 'mongodb';
import type { KeyedMutex } from '../../src/concurrency/keyed-mutex.ts';
import type { AssembledContract, BundleSummary, BundleVersion } from '../../src/domain/deployment.ts';
import type { Env } from '../../src/domain/ids.ts';
import type { BundleStore } from '../../src/ports/bundles.ts';
import { currentOfTenant, type DeploymentCollections, overlay } from './deployments.ts';
import { unavailable, unlessTaken } from './failure.ts';
import { fromText, type Row, toText } from './form.ts';
import type { Placed } from './signing.ts';

export type BundleRow = Omit<Row<BundleVersion>, 'signature' | 'snapshot'> & {
  readonly snapshot: string | null;
  readonly yaml: Binary;
};
type WithoutYaml = Omit<BundleRow, 'yaml'>;

export interface BundleCollections extends DeploymentCollections {
  readonly bundles: Collection<BundleRow>;
}

const attempts = 100;
const noYaml = { projection: { yaml: 0 } };

const ofBundle = (tenantId: string, name: string) => ({ tenantId, name });

function record({ _id, snapshot, ...rest }: WithoutYaml, signature: string | null): BundleVersion {
  const { yaml: _yaml, ...fields } = { yaml: null, ...rest };
  return { id: _id, ...fields, snapshot: fromText<readonly AssembledContract[]>(snapshot), signature };
}

export const bundleHasVersion =
  (bundles: Collection<BundleRow>) =>
  async (tenantId: string, name: string, version: number): Promise<boolean> =>
    (await bundles.findOne({ ...ofBundle(tenantId, name), version }, { projection: { _id: 1 } })) !== null;

export function mongoBundles(c: BundleCollections, turn: KeyedMutex): BundleStore {
  /** The newest deployments of each version, newest first; of one version when given. */
  async function deployed(tenantId: string, name: string, version?: number): Promise<readonly Placed[]> {
    const current = (await currentOfTenant(c.signing, tenantId)).filter(
      (d) => d.bundleName === name && (version === undefined || d.version === version),
    );
    const match = { tenantId, bundleName: name };
    const rows =
      version === undefined
        ? await c.deployments.find(match).sort({ order: -1 }).toArray()
        : await c.deployments
            .find({ ...match, version })
            .sort({ order: -1 })
            .limit(1)
            .toArray();
    return overlay(current, rows);
  }
  const signatureOf = (deployments: readonly Placed[], version: number): string | null =>
    deployments.find((d) => d.version === version)?.signature ?? null;

  return {
    addVersion({ yaml, snapshot, id, ...bundle }) {
      return turn(`bundles/${bundle.tenantId}/${bundle.name}`, async () => {
        for (let attempt = 0; attempt < attempts; attempt++) {
          const known = await c.bundles.findOne<WithoutYaml>({ _id: id }, noYaml);
          if (known) {
            return record(
              known,
              signatureOf(await deployed(known.tenantId, known.name, known.version), known.version),
            );
          }
          const newest = await c.bundles.findOne(ofBundle(bundle.tenantId, bundle.name), {
            projection: { version: 1 },
            sort: { version: -1 },
          });
          const row = { _id: id, ...bundle, version: (newest?.version ?? 0) + 1, snapshot: toText(snapshot) };
          if (await unlessTaken(c.bundles.insertOne({ ...row, yaml: new Binary(yaml) })))
            return record(row, null);
        }
        throw unavailable();
      });
    },
    async version(tenantId, name, version) {
      const filter = { ...ofBundle(tenantId, name), version };
      const row = await c.bundles.findOne<WithoutYaml>(filter, noYaml);
      return row && record(row, signatureOf(await deployed(tenantId, name, version), version));
    },
    async versions(tenantId, name) {
      const deployments = await deployed(tenantId, name);
      const rows = await c.bundles
        .find<WithoutYaml>(ofBundle(tenantId, name), noYaml)
        .sort({ version: -1 })
        .toArray();
      return rows.map((row) => record(row, signatureOf(deployments, row.version)));
    },
    async yaml(tenantId, name, version) {
      const row = await c.bundles.findOne(
        { ...ofBundle(tenantId, name), version },
        { projection: { yaml: 1 } },
      );
      return row === null ? null : new Uint8Array(row.yaml.buffer.subarray(0, row.yaml.position));
    },
    async summaries(tenantId, env) {
      const current = await currentOfTenant(c.signing, tenantId);
      const ever = env === null ? null : await everDeployed(c, tenantId, env, current);
      const rows = await c.bundles
        .find<WithoutYaml>(
          { tenantId },
          { projection: { name: 1, version: 1, createdAt: 1, contractCount: 1 } },
        )
        .toArray();
      return summarize(
        rows.filter((row) => ever === null || ever.has(`${row.version}/${row.name}`)),
        env === null ? current : current.filter((d) => d.env === env),
      );
    },
  };
}

/** `<version>/<name>` of what was ever deployed in the environment. */
async function everDeployed(
  c: BundleCollections,
  tenantId: string,
  env: Env,
  current: readonly Placed[],
): Promise<ReadonlySet<string>> {
  const pairs = await c.deployments
    .aggregate<{ _id: { name: string; version: number } }>([
      { $match: { tenantId, env } },
      { $group: { _id: { name: '$bundleName', version: '$version' } } },
    ])
    .toArray();
  return new Set([
    ...pairs.map(({ _id }) => `${_id.version}/${_id.name}`),
    ...current.filter((d) => d.env === env).map((d) => `${d.version}/${d.bundleName}`),
  ]);
}

function summarize(rows: readonly WithoutYaml[], current: readonly Placed[]): readonly BundleSummary[] {
  const byName = new Map<string, WithoutYaml[]>();
  for (const row of rows) {
    const versions = byName.get(row.name);
    if (versions) versions.push(row);
    else byName.set(row.name, [row]);
  }
  const summaries = [...byName].map(([name, versions]): BundleSummary => {
    const newest = versions.reduce((a, b) => (b.version > a.version ? b : a));
    const deployed = current.filter((d) => d.bundleName === name);
    return {
      name,
      latestVersion: newest.version,
      versionCount: versions.length,
      lastUpdated: Math.max(...versions.map((v) => v.createdAt)),
      deployedEnvs: deployed.map((d) => d.env).sort(),
      contractCount: newest.contractCount,
      lastDeployedAt: deployed.length === 0 ? null : Math.max(...deployed.map((d) => d.createdAt)),
    };
  });
  return summaries.sort((a, b) => b.lastUpdated - a.lastUpdated || (a.name < b.name ? -1 : 1));
}
