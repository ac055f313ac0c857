// Route of the playground: a dry run of YAML against one tool call.
import { z } from 'zod';
import { count, lintFinding } from '../../bundle/record/finding.ts';
import { anyObject, line, text, yamlContent } from '../../http/contract/fields.ts';
import { documentBody, routes } from '../../http/contract/route.ts';
import { evaluationRecord } from '../record.ts';

export const evaluateRoutes = routes({
  evaluateBundle: {
    method: 'POST',
    path: '/api/v1/bundles/evaluate',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'body',
    tag: 'bundles',
    summary: 'Dry-run a bundle against one tool call; env.* selectors have no value',
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
          service_id: text(255).nullable().default(null),
          org_id: text(255).nullable().default(null),
          role: text(255).nullable().default(null),
          ticket_ref: text(255).nullable().default(null),
          claims: anyObject.nullable().default(null),
        })
        .nullish(),
      /** The folder the tool runs in, for sandboxes; by default the first one that a sandbox names. */
      cwd: text(4_096, 1).nullish(),
      /** Read by `metadata.*` selectors. */
      metadata: anyObject.nullish(),
      /** The tool's result: with it, post contracts are evaluated. */
      output: z.unknown().optional(),
      /** Counters before this call: with them, session contracts and limits are evaluated. */
      session: z
        .object({
          attempts: count.default(0),
          calls: count.default(0),
          /** Calls of this tool. */
          calls_of_tool: count.default(0),
        })
        .nullish(),
    }),
    status: 200,
    reply: evaluationRecord.reply('console', 'one').extend({
      /**
       * Findings of the linter: contracts that can never match, and text that released clients read otherwise.
       */
      warnings: z.array(lintFinding),
    }),
    audit: 'It changes nothing.',
    errors: ['validation_failed', 'unprocessable', 'too_busy'],
    bodyLimit: documentBody,
  },
});
