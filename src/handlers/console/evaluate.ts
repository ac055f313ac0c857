// The playground: translates a dry run into the console's words. The run itself is the evaluator's.

import { defaultEnvironment } from 'reeve-agent/rules';
import type { evaluateRoutes } from '../../api/evaluate.ts';
import type { Handlers } from '../common/hub.ts';
import { principalOf } from './principal.ts';

export const evaluate: Handlers<typeof evaluateRoutes> = {
  async evaluateBundle(hub, { body }, caller) {
    const result = await hub.app.playground.evaluate(principalOf(caller), {
      yaml: body.yaml_content,
      call: {
        tool: body.tool_name,
        args: body.tool_args,
        environment: body.environment ?? defaultEnvironment,
        principal: body.principal ?? null,
        cwd: body.cwd ?? null,
        metadata: body.metadata ?? null,
      },
      ...(body.output === undefined ? {} : { output: body.output }),
      ...(body.session
        ? {
            session: {
              // This call is an attempt as well.
              attempts: body.session.attempts + 1,
              executions: body.session.calls,
              toolExecutions: body.session.calls_of_tool,
            },
          }
        : {}),
    });
    return {
      verdict: result.verdict,
      mode: result.mode,
      contracts_evaluated: result.contracts_evaluated.map((contract) => ({
        ...contract,
        tags: [...contract.tags],
        trace: contract.trace ? { ...contract.trace } : null,
      })),
      deciding_contract: result.deciding_contract,
      policy_version: hub.secrets.sha256(body.yaml_content).slice(0, 12),
      evaluation_time_ms: Math.round(result.elapsedMs * 100) / 100,
      warnings: result.warnings.map((finding) => ({ ...finding })),
    };
  },
};
