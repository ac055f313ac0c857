// Dry runs of a document against one call, with what the tenant says of its agents' tools.
import type { Principal } from '../domain/principal.ts';
import type { Evaluation, EvaluationRequest } from '../ports/evaluator.ts';
import type { AppPorts } from './ports.ts';
import { wordsOf } from './tool-settings.ts';

export interface Playground {
  /** Runs nothing and stores nothing. @throws HubError too_busy, unprocessable, validation_failed */
  evaluate(
    principal: Principal,
    request: Omit<EvaluationRequest, 'toolArguments' | 'words'>,
  ): Promise<Evaluation>;
}

export const createPlayground = ({
  store,
  evaluator,
}: Pick<AppPorts, 'store' | 'evaluator'>): Playground => ({
  async evaluate({ tenantId }, request) {
    const tools = await store.settings.get(tenantId, 'tools');
    return evaluator.evaluate(tenantId, {
      ...request,
      toolArguments: tools?.value.toolArguments ?? {},
      words: wordsOf(tools),
    });
  },
});
