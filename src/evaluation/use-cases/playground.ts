// Dry runs of a document against one call, with the tenant's settings for its agents' tools.
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { EvaluationRequest } from '../port/evaluator.ts';
import { wordsOf } from '../rules/custom-words.ts';
import type { RecentToolSettings } from './tool-settings.ts';

export interface Playground {
  /**
   * An `Evaluation` as JSON text in UTF-8. Runs nothing and stores nothing.
   * @throws HubError too_busy, unprocessable, validation_failed
   */
  evaluate(
    principal: Principal,
    request: Omit<EvaluationRequest, 'toolArguments' | 'words'>,
  ): Promise<Uint8Array>;
}

export const createPlayground = ({
  evaluator,
  recentToolSettings,
}: Pick<AppPorts, 'evaluator'> & { readonly recentToolSettings: RecentToolSettings }): Playground => ({
  async evaluate({ tenantId }, request) {
    const tools = await recentToolSettings.get(tenantId);
    return evaluator.evaluateToJson(tenantId, {
      ...request,
      toolArguments: tools?.value.toolArguments ?? {},
      words: wordsOf(tools),
    });
  },
});
