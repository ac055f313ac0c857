// Bundle versions in the console API's words.

import { deploymentRecord } from '../../deployment/record.ts';
import { Reply } from '../../http/contract/call.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { listOf } from '../../http/contract/pages.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso, isoOrNull, renderFindings, renderFindingsFor } from '../../http/contract/render.ts';
import { encodeSignature, provenance } from '../../http/contract/signature.ts';
import { validationFailed } from '../../http/contract/validation.ts';
import { ifMatchOf } from '../../shared/if-match.ts';
import { type BundleVersion, bundleRecord } from '../record.ts';
import type { bundleRoutes } from './routes.ts';

const renderVersion = (bundle: BundleVersion) =>
  bundleRecord.render('console', { ...bundle, sourceHubSlug: null, sourceHubRevision: null });

/** The tenant's least isolation of programs, for agents that have no stream yet. */
const isolationHeader = 'X-Reeve-Isolation';

export const bundles: Handlers<typeof bundleRoutes> = {
  async uploadBundle({ app }, { body }, caller) {
    const { bundle, warnings } = await app.bundles.upload(principalOf(caller), body.yaml_content);
    return { ...renderVersion(bundle), warnings: renderFindings(warnings) };
  },

  async listBundles({ app }, { query }, caller) {
    const principal = principalOf(caller);
    const { env } = principal;
    const page = await app.bundles.list(principal, query);
    return listOf(page, query, (bundle) => ({
      name: bundle.name,
      latest_version: bundle.latestVersion,
      version_count: bundle.versionCount,
      last_updated: iso(bundle.lastUpdated),
      deployed_envs: bundle.deployedEnvs.filter((one) => env === null || one === env).sort(),
      contract_count: bundle.contractCount,
      last_deployed_at: isoOrNull(bundle.lastDeployedAt),
    }));
  },

  async listBundleVersions({ app }, { params, query }, caller) {
    const page = await app.bundles.listVersions(principalOf(caller), params.name, query);
    return listOf(page, query, ({ bundle, deployedEnvs }) => ({
      ...renderVersion(bundle),
      deployed_envs: [...deployedEnvs],
    }));
  },

  async currentBundle({ app, settings }, { params, query }, caller) {
    const principal = principalOf(caller);
    const env = query.env ?? principal.env;
    if (env === null) throw validationFailed([{ loc: ['query', 'env'], msg: 'is required' }]);
    const { bundle, deployment, yaml, successions } = await app.deployments.getCurrent(
      principal,
      env,
      params.name,
    );
    const body = {
      ...renderVersion(bundle),
      // The deployment's own: a rotation of the key changes signature and key together.
      signature_hex: deployment.signature,
      // As in contract_update: a client that verifies reads both alike.
      signature: encodeSignature(deployment.signature, settings.wire.signatureEncoding),
      public_key: deployment.publicKey,
      env: deployment.env,
      ...provenance(deployment, successions),
      yaml_bytes: Buffer.from(yaml).toString('base64'),
    };
    const isolation = await app.toolSettings.getIsolation(principal.tenantId);
    return isolation === 'none' ? body : new Reply(body, { headers: { [isolationHeader]: isolation } });
  },

  getBundleVersion: async ({ app }, { params }, caller) =>
    renderVersion(await app.bundles.getVersion(principalOf(caller), params.name, params.version)),

  getBundleYaml: ({ app }, { params }, caller) =>
    app.bundles.getYaml(principalOf(caller), params.name, params.version),

  async deployBundle({ app }, { params, query, body }, caller, request) {
    const { deployment, warnings } = await app.deployments.deploy(
      principalOf(caller),
      body.env,
      params.name,
      params.version,
      {
        force: query.force,
        reason: body.reason || null,
        ifMatch: ifMatchOf(request.header('if-match')),
      },
    );
    const unable = await app.vocabularies.ofDeployment(deployment);
    return {
      ...deploymentRecord.render('console', deployment),
      warnings: renderFindingsFor(warnings, unable, 'console'),
    };
  },

  async deleteBundle({ app }, { params }, caller, request) {
    await app.bundles.remove(principalOf(caller), params.name, ifMatchOf(request.header('if-match')));
    return null;
  },
};
