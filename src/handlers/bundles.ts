// Bundle versions and deployments: uploaded, read within a key's environment, deployed. Signing and pushing are the environment's.
import type { bundleRoutes } from '../api/bundles.ts';
import type { CallerOf } from '../api/call.ts';
import { encodeSignature, provenance } from '../api/signature.ts';
import type { BundleVersion, Deployment } from '../domain/deployment.ts';
import { type HubError, notFound } from '../domain/error.ts';
import { type Env, environments } from '../domain/ids.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import type { Handlers, Hub } from './hub.ts';
import { listOf } from './pages.ts';
import { deploy } from './release.ts';
import { iso, isoOrNull } from './render.ts';

const renderVersion = (bundle: BundleVersion) => ({
  id: bundle.id,
  tenant_id: bundle.tenantId,
  name: bundle.name,
  version: bundle.version,
  revision_hash: bundle.revisionHash,
  signature_hex: bundle.signature,
  source_hub_slug: null,
  source_hub_revision: null,
  uploaded_by: bundle.uploadedBy,
  created_at: iso(bundle.createdAt),
});

const renderDeployment = (deployment: Deployment) => ({
  id: deployment.id,
  env: deployment.env,
  bundle_name: deployment.bundleName,
  bundle_version: deployment.version,
  sequence: deployment.sequence,
  deployed_by: deployment.deployedBy,
  created_at: iso(deployment.createdAt),
});

const absent = (name: string, version: number): HubError =>
  notFound(`Bundle '${name}' v${version} not found`);

/**
 * With an API key only the version that its environment runs now exists: any other is not found (document 1, Authentication 4).
 * @throws HubError not_found
 */
async function requireVisible(
  hub: Hub,
  caller: CallerOf<readonly ['key', 'cookie']>,
  name: string,
  version: number,
): Promise<void> {
  if (caller.kind === 'user') return;
  const current = await hub.store.deployments.currentOf(caller.tenantId, caller.env, name);
  if (current?.version !== version) throw absent(name, version);
}

/** Every bundle has a version 1. */
const isUnknown = async (hub: Hub, tenantId: string, name: string): Promise<boolean> =>
  (await hub.store.bundles.version(tenantId, name, 1)) === null;

export const bundles: Handlers<typeof bundleRoutes> = {
  async uploadBundle(hub, { body }, caller) {
    const { name, contractCount } = await hub.evaluator.outline(caller.tenantId, body.yaml_content);
    const yaml = new TextEncoder().encode(body.yaml_content);
    const bundle = await hub.store.bundles.addVersion({
      id: hub.secrets.uuid(),
      tenantId: caller.tenantId,
      name,
      revisionHash: hub.secrets.sha256(yaml),
      contractCount,
      size: yaml.length,
      uploadedBy: caller.email,
      createdAt: hub.clock.now(),
      compositionId: null,
      snapshot: null,
      yaml,
    });
    await hub.announcer.announce([{ kind: 'bundleUploaded', bundle }]);
    return renderVersion(bundle);
  },

  async listBundles(hub, { query }, caller) {
    const env = caller.kind === 'key' ? caller.env : null;
    const page = await hub.store.bundles.summaries(caller.tenantId, env, query);
    return listOf(page, query, (bundle) => ({
      name: bundle.name,
      latest_version: bundle.latestVersion,
      version_count: bundle.versionCount,
      last_updated: iso(bundle.lastUpdated),
      deployed_envs: env === null ? [...bundle.deployedEnvs].sort() : [env],
      contract_count: bundle.contractCount,
      last_deployed_at: isoOrNull(bundle.lastDeployedAt),
    }));
  },

  async listBundleVersions(hub, { params, query }, caller) {
    const { bundles, deployments } = hub.store;
    const [page, ...current] = await Promise.all([
      bundles.versions(caller.tenantId, params.name, query),
      ...environments.map((env) => deployments.currentOf(caller.tenantId, env, params.name)),
    ]);
    if (page.items.length === 0 && (await isUnknown(hub, caller.tenantId, params.name))) {
      throw notFound(`Bundle '${params.name}' not found`);
    }
    const envsOf = (version: number): Env[] =>
      current.flatMap((d) => (d?.version === version ? [d.env] : [])).sort();
    return listOf(page, query, (bundle) => ({
      ...renderVersion(bundle),
      deployed_envs: envsOf(bundle.version),
    }));
  },

  async currentBundle(hub, { params, query }, caller) {
    const { tenantId } = caller;
    const deployment = await hub.store.deployments.currentOf(tenantId, query.env, params.name);
    const none = notFound(`No deployed bundle '${params.name}' for env '${query.env}'`);
    if (!deployment) throw none;
    const [bundle, yaml, successions] = await Promise.all([
      hub.store.bundles.version(tenantId, params.name, deployment.version),
      hub.store.bundles.yaml(tenantId, params.name, deployment.version),
      hub.store.signing.successions(tenantId),
    ]);
    if (!bundle || !yaml) throw none;
    return {
      ...renderVersion(bundle),
      // The deployment's own: a rotation of the key changes signature and key together.
      signature_hex: deployment.signature,
      // As in contract_update: a client that verifies reads both alike.
      signature: encodeSignature(deployment.signature, hub.settings.wire.signatureEncoding),
      public_key: deployment.publicKey,
      env: deployment.env,
      ...provenance(deployment, successions),
      yaml_bytes: Buffer.from(yaml).toString('base64'),
    };
  },

  async getBundleVersion(hub, { params }, caller) {
    await requireVisible(hub, caller, params.name, params.version);
    const bundle = await hub.store.bundles.version(caller.tenantId, params.name, params.version);
    if (!bundle) throw absent(params.name, params.version);
    return renderVersion(bundle);
  },

  async getBundleYaml(hub, { params }, caller) {
    await requireVisible(hub, caller, params.name, params.version);
    const yaml = await hub.store.bundles.yaml(caller.tenantId, params.name, params.version);
    if (!yaml) throw absent(params.name, params.version);
    return yaml;
  },

  async deployBundle(hub, { params, body }, caller) {
    const { name, version } = params;
    const bundle = await hub.store.bundles.version(caller.tenantId, name, version);
    if (!bundle) throw absent(name, version);
    return renderDeployment(await deploy(hub, caller.tenantId, body.env, name, version, caller.email));
  },

  async listDeployments(hub, { query }, caller) {
    const filter = omitUndefined({ env: query.env, bundleName: query.bundle_name });
    const page = await hub.store.deployments.list(caller.tenantId, filter, query);
    return listOf(page, query, renderDeployment);
  },
};
