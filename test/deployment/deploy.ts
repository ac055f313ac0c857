// Saves and deploys a bundle without the routes for it. For tests of other routes.
import { environmentKey } from '../../actors/protocol.ts';
import type { Deployment } from '../../src/deployment/record.ts';
import type { Env } from '../../src/shared/ids.ts';
import type { TestHub, UserCaller } from '../harness.ts';

/** The next version of the bundle, deployed. @param content what its YAML holds, so that versions differ */
export async function deploy(
  { hub }: TestHub,
  { tenantId, email }: UserCaller,
  name: string,
  content: string,
  env: Env = 'production',
): Promise<Deployment> {
  const yaml = new TextEncoder().encode(`metadata: {name: ${name}}\ncontent: ${content}\n`);
  const { version } = await hub.store.bundles.upload({
    id: hub.secrets.uuid(),
    tenantId,
    name,
    revisionHash: hub.secrets.sha256(yaml),
    contractCount: 0,
    mode: 'enforce',
    description: null,
    size: yaml.length,
    uploadedBy: email,
    createdAt: hub.clock.now(),
    compositionId: null,
    snapshot: null,
    yaml,
  });
  return hub.actors.ask('environment', environmentKey(tenantId, env), 'deploy', {
    id: hub.secrets.uuid(),
    bundleName: name,
    version,
    deployedBy: email,
    ...{ forced: false, reason: null, documentKind: null },
  });
}
