// The playground: translates a call into the evaluator's words. The answer is the evaluator's, in the rule language's
// words, and goes out as it was written.
import { defaultEnvironment } from 'reeve-agent/rules';
import { WrittenJson } from '../../http/contract/call.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import type { evaluateRoutes } from './routes.ts';

export const evaluate: Handlers<typeof evaluateRoutes> = {
  async evaluateBundle(hub, { body }, caller) {
    const json = await hub.app.playground.evaluate(principalOf(caller), {
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
    return new WrittenJson(json);
  },
};
