// Route of the playground: a dry run of YAML against one tool call.
import { z } from 'zod';
import { anyObject, line, text, yamlContent } from './fields.ts';
import { documentBody, routes } from './route.ts';

export const evaluateRoutes = routes({
  evaluateBundle: {
    method: 'POST',
    path: '/api/v1/bundles/evaluate',
    auth: ['cookie'],
    tag: 'bundles',
    summary: 'Dry-run a bundle against one tool call; env.* selectors find nothing',
    body: z.object({
      yaml_content: yamlContent,
      tool_name: line(255),
      tool_args: anyObject.default({}),
      environment: line(64).nullish(),
      /** Taken and not used: no rule sees an agent's id. */
      agent_id: line(255).nullish(),
      principal: z
        .object({
          user_id: text(255).nullable().default(null),
          role: text(255).nullable().default(null),
          claims: anyObject.nullable().default(null),
        })
        .nullish(),
      /** The folder the tool runs in, for sandboxes; by default the first one that a sandbox names. */
      cwd: text(4_096, 1).nullish(),
    }),
    status: 200,
    reply: z.object({
      verdict: z.string(),
      mode: z.string(),
      contracts_evaluated: z.array(
        z.object({
          id: z.string(),
          type: z.string(),
          /** True when the call passed the contract; false when it fired. */
          matched: z.boolean(),
          effect: z.string().nullable(),
          message: z.string().nullable(),
          observed: z.boolean(),
          tags: z.array(z.string()),
        }),
      ),
      deciding_contract: z.string().nullable(),
      policy_version: z.string(),
      evaluation_time_ms: z.number(),
    }),
    errors: ['validation_failed', 'unprocessable', 'too_busy'],
    bodyLimit: documentBody,
  },
});
