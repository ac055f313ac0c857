// The playground: translates a dry run into the console's words. The run itself is the evaluator's.
import type { evaluateRoutes } from '../api/evaluate.ts';
import type { Handlers } from './hub.ts';

export const evaluate: Handlers<typeof evaluateRoutes> = {
  async evaluateBundle(hub, { body }) {
    const principal = body.principal ?? null;
    const result = await hub.evaluator.evaluate({
      yaml: body.yaml_content,
      toolName: body.tool_name,
      toolArgs: body.tool_args,
      environment: body.environment ?? 'production',
      agentId: body.agent_id ?? 'test-agent',
      principal: principal && {
        userId: principal.user_id ?? null,
        role: principal.role ?? null,
        claims: principal.claims ?? null,
      },
    });
    return {
      verdict: result.verdict,
      mode: result.mode,
      contracts_evaluated: result.contracts.map((contract) => ({
        id: contract.id,
        type: contract.type,
        matched: contract.passed,
        effect: contract.effect,
        message: contract.message,
        observed: contract.observed,
        tags: [...contract.tags],
      })),
      deciding_contract: result.decidingContract,
      policy_version: hub.secrets.sha256(body.yaml_content).slice(0, 12),
      evaluation_time_ms: Math.round(result.elapsedMs * 100) / 100,
    };
  },
};
