// The plan of an undeployment: the document that goes, and the agents that keep it.
import { useNavigate } from '@tanstack/react-router';
import type { JSX } from 'react';
import { linkTo } from '../../lib/address.ts';
import { useActionBlockReason } from '../../lib/may.ts';
import { useAction, useCall } from '../../lib/query.ts';
import type { Env as Environment } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { say } from '../../ui/messages.tsx';
import { Button, Data, Empty, Notice } from '../../ui/parts.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { runningVersion, useBundleVersions } from '../documents/versions.ts';
import { useReviewed } from './reviewed.ts';

/** The agents that keep the document, as the start of a sentence. @param deploymentId null requests nothing */
function useRemainingAgentsText(deploymentId: string | null): string {
  const { data } = useCall(
    'deploymentRollout',
    { params: { deployment_id: deploymentId ?? '' }, query: { limit: 1 } },
    { enabled: deploymentId !== null },
  );
  // An agent that has reported no version may run it.
  if (data === undefined || (data.running === 0 && data.unknown > 0)) {
    return 'Connected agents keep their last document';
  }
  const { running } = data;
  if (running === 0) return 'No connected agents run it';
  return running === 1
    ? '1 connected agent runs it until it restarts'
    : `${counted(running, 'connected agent')} run it until they restart`;
}

export function Undeploy({ name, env }: { readonly name: string; readonly env: Environment }): JSX.Element {
  const navigate = useNavigate();
  const versions = useBundleVersions(name);
  const deployments = useCall('listDeployments', { query: { bundle_name: name, env, limit: 1 } });
  const [deployment] = deployments.data ?? [];
  const version =
    versions.data && deployments.data && runningVersion(versions.data, env, deployment)?.toString();
  const isLoading = versions.isFetching === true || deployments.isFetching;
  const { reviewed, hasMoved, accept } = useReviewed(version, isLoading);
  const remainingAgents = useRemainingAgentsText(deployment?.id ?? null);
  const cannot = useActionBlockReason('undeployBundle', [env]);
  const remove = useAction('undeployBundle', [
    'listBundles',
    'listBundleVersions',
    'listDeployments',
    'currentBundle',
  ]);
  const done = (): void => {
    say(`${name} undeployed from ${env}.`, 'allow');
    void navigate({ ...linkTo.bundle(name), replace: true });
  };
  return (
    <QueryResult query={deployments.data ? versions : deployments} rows={3}>
      {() => {
        if (version === undefined) {
          return (
            <Empty title="Not deployed">
              <p>
                {env} does not run <Data text={name} max={120} />, so there is nothing to undeploy.
              </p>
            </Empty>
          );
        }
        return (
          <>
            <p>
              Undeploying removes <Data text={`${name} v${version}`} max={120} /> from {env}.{' '}
              {`${remainingAgents}; new agents get none.`}
            </p>
            {remove.error && <Failed error={remove.error} />}
            {hasMoved && (
              <Notice tone="ask" role="alert" acts={<Button onClick={accept}>Use new version</Button>}>
                <p>
                  The document of {env} changed while this page was open. The version above is the new one.
                </p>
              </Notice>
            )}
            <div className="decide-buttons">
              <Button
                kind="danger"
                busy={remove.isPending}
                cannot={cannot}
                disabled={reviewed === undefined || hasMoved}
                onClick={() => remove.mutate({ query: { env, bundle_name: name }, ifMatch: reviewed }, done)}
              >
                Undeploy from {env}
              </Button>
            </div>
          </>
        );
      }}
    </QueryResult>
  );
}
