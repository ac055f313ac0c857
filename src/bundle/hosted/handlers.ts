// Rulesets in the hosted API's words: base64 signatures, ETags that are revisions, environments by default.

import type { Deployment } from '../../deployment/record.ts';
import { Reply } from '../../http/contract/call.ts';
import { matchesEtag } from '../../http/contract/etag.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { envChanged, envRead } from '../../http/contract/hosted-environment.ts';
import { pageOf } from '../../http/contract/hosted-pages.ts';
import { principalOf } from '../../http/contract/hosted-principal.ts';
import { renderFindingsFor } from '../../http/contract/render.ts';
import { encodeSignature, provenance } from '../../http/contract/signature.ts';
import { agentOf } from '../../shared/acting-agent.ts';
import { HubError, notFound } from '../../shared/error.ts';
import { keyIdOf } from '../../signing/rules/active-signer.ts';
import {
  currentRulesetRecord,
  deployedRulesetRecord,
  rulesetDeploymentRecord,
  rulesetRecord,
  rulesetSummaryRecord,
} from '../record.ts';
import type { RulesetVersion } from '../use-cases/rulesets.ts';
import type { hostedRulesetRoutes } from './routes.ts';

const yamlTypes = /^(?:application\/(?:x-)?yaml|text\/(?:x-)?yaml) *(?:;|$)/i;

export const hostedRulesets: Handlers<typeof hostedRulesetRoutes> = {
  async hostedListRulesets({ app }, { query }, caller) {
    const list = await app.rulesets.list(principalOf(caller), query);
    const rows = list.items.map(({ latest, deployments, ...summary }) =>
      rulesetSummaryRecord.render('hosted', {
        ...latest,
        ...summary,
        deployed: deployments.map((one) => rulesetDeploymentRecord.render('hosted', one)),
      }),
    );
    const { items, ...page } = pageOf(rows, query, list.more);
    return { rulesets: items, ...page };
  },

  async hostedGetRuleset(hub, { params }, caller, request) {
    const version = await hub.app.rulesets.getVersion(principalOf(caller), params.name, null);
    return detail(hub, version, request.header('if-none-match'));
  },

  async hostedPutRuleset(hub, { params, query, body }, caller, request) {
    const type = request.header('content-type');
    if (type === null || !yamlTypes.test(type)) {
      throw new HubError(
        'unsupported_media_type',
        'The Content-Type is not a YAML type. Send the ruleset as application/x-yaml.',
      );
    }
    const env = query.deploy === 'true' ? (query.env ?? 'production') : null;
    const { created, warnings, ...ruleset } = await hub.app.rulesets.deploy(principalOf(caller), {
      name: params.name,
      yaml: body,
      env,
      force: query.force,
      reason: query.reason || null,
      match: tagsOf(request.header('if-match')),
      noneMatch: tagsOf(request.header('if-none-match')),
    });
    const deployed = ruleset.deployments.find((deployment) => deployment.env === env);
    const unable = deployed ? await hub.app.vocabularies.ofDeployment(deployed) : null;
    return new Reply(
      { ...record(hub, ruleset), created, warnings: renderFindingsFor(warnings, unable, 'hosted') },
      { status: created ? 201 : 200, headers: { ETag: tagOf(ruleset.bundle.revisionHash) } },
    );
  },

  async hostedRulesetVersions(hub, { params, query }, caller) {
    const { items, more } = await hub.app.rulesets.listVersions(principalOf(caller), params.name, query);
    const { items: versions, ...page } = pageOf(
      items.map((one) => record(hub, one)),
      query,
      more,
    );
    return { versions, ...page };
  },

  async hostedRulesetVersion(hub, { params }, caller, request) {
    const version = await hub.app.rulesets.getVersion(principalOf(caller), params.name, params.version);
    return detail(hub, version, request.header('if-none-match'));
  },

  async hostedDeployRuleset({ app }, { params, query }, caller) {
    const { deployment, warnings } = await app.deployments.deploy(
      principalOf(caller),
      envChanged(query.env),
      params.name,
      params.version,
      { force: query.force, reason: query.reason || null },
    );
    const unable = await app.vocabularies.ofDeployment(deployment);
    return {
      ...deployedRulesetRecord.render('hosted', deployment),
      warnings: renderFindingsFor(warnings, unable, 'hosted'),
    };
  },

  async hostedCurrentRuleset(hub, { params, query }, caller, request) {
    const env = envRead(caller, query.env);
    if (env === null) throw notDeployed(params.name, query.env ?? '');
    const current = await hub.app.deployments
      .getCurrent(principalOf(caller), env, params.name)
      .catch(inWordsOf(params.name, env));
    const { deployment, yaml, successions } = current;
    if (caller.kind === 'hostedKey') {
      const by = { keyId: caller.keyId, agentId: agentOf(caller) };
      hub.app.fetchedRulesets.fetched(caller.tenantId, env, by, params.name);
    }
    const headers = { ETag: tagOf(deployment.revisionHash) };
    if (matchesEtag(request.header('if-none-match'), headers.ETag)) return unchanged(headers);
    const bytes = Buffer.from(yaml);
    const document = { yaml: bytes.toString('utf8'), yamlBytes: bytes.toString('base64') };
    const reply = currentRulesetRecord.render('hosted', {
      ...deployment,
      ...document,
      ...signed(hub, deployment),
    });
    return new Reply({ ...reply, ...provenance(deployment, successions) }, { headers });
  },

  async hostedUndeployRuleset({ app }, { params, query }, caller) {
    const env = envChanged(query.env);
    await app.deployments.undeploy(principalOf(caller), env, params.name).catch(inWordsOf(params.name, env));
    return null;
  },
};

const notDeployed = (name: string, env: string): HubError =>
  notFound(`Ruleset '${name}' is not deployed to '${env}'.`);

/** Says of what is not deployed that it is a ruleset, which the console calls a bundle. */
const inWordsOf =
  (name: string, env: string) =>
  (error: unknown): never => {
    throw error instanceof HubError && error.code === 'not_found' ? notDeployed(name, env) : error;
  };

const signed = (hub: Pick<Hub, 'secrets'>, { signature, publicKey }: Deployment) => ({
  signature: encodeSignature(signature, 'base64'),
  publicKey,
  keyId: keyIdOf(hub.secrets, publicKey),
});

const record = (hub: Pick<Hub, 'secrets'>, { bundle, deployments, last }: RulesetVersion) =>
  rulesetRecord.render('hosted', {
    ...bundle,
    deployedEnvs: deployments.map(({ env }) => env).sort(),
    ...(last ? signed(hub, last) : { signature: null, publicKey: null, keyId: null }),
    deployedAt: last?.createdAt ?? null,
    deployedEnv: last?.env ?? null,
  });

type Detail = ReturnType<typeof record> & { readonly yaml_content: string };

function detail(
  hub: Pick<Hub, 'secrets'>,
  version: RulesetVersion & { readonly yaml: Uint8Array },
  ifNoneMatch: string | null,
): Reply<Detail> {
  const headers = { ETag: tagOf(version.bundle.revisionHash) };
  if (matchesEtag(ifNoneMatch, headers.ETag)) return unchanged(headers);
  const yaml_content = Buffer.from(version.yaml).toString('utf8');
  return new Reply({ ...record(hub, version), yaml_content }, { headers });
}

/** 304 has no body, whatever the route declares. */
const unchanged = (headers: { readonly ETag: string }): Reply<never> =>
  new Reply(null as never, { status: 304, headers });

const tagOf = (revisionHash: string): string => `"${revisionHash}"`;

/** The revisions of an If-Match or If-None-Match header; empty for `*`, null without one. A weak tag fits nothing. */
function tagsOf(header: string | null): readonly string[] | null {
  if (header === null) return null;
  if (header.trim() === '*') return [];
  const tags = header.split(',').map((tag) => /^"([0-9a-f]*)"$/i.exec(tag.trim())?.[1] ?? '-');
  return tags;
}
