// The number of agents that would keep a document, for dialogs that undeploy it.
import { useCall } from '../../lib/query.ts';
import { counted } from '../../lib/text.ts';

/** The start of a sentence. @param deploymentId null requests nothing */
export function useRemainingAgentsText(deploymentId: string | null): string {
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
