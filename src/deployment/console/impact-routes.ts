// Route of what a deploy would change.
import { z } from 'zod';
import { contractType, env, text, yamlContent } from '../../http/contract/fields.ts';
import { documentBody, routes } from '../../http/contract/route.ts';
import { runningVersion } from './schemas.ts';

const count = z.number().int();

/** A contract that is there on one side alone. */
export const oneSided = z.object({ contract_id: z.string(), type: contractType });

/** A contract that differs, and in what. */
export const contractChange = oneSided.extend({ fields: z.array(z.string()) });

export const impactRoutes = routes({
  bundleImpact: {
    method: 'POST',
    path: '/api/v1/bundles/impact',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'body',
    tag: 'bundles',
    summary:
      'Preview a deployment of a text or a saved composition: contracts added, removed, tightened, ' +
      'loosened or otherwise changed, and what connected agents run now. Deploys nothing',
    body: z
      .object({
        yaml_content: yamlContent.optional(),
        /** The name of a composition. */
        composition: text(128, 1).optional(),
        env,
      })
      .refine(
        ({ yaml_content, composition }) => (yaml_content === undefined) !== (composition === undefined),
        'must contain either yaml_content or composition',
      ),
    reads: true,
    status: 200,
    reply: z.object({
      bundle_name: z.string(),
      env,
      /** Version that the environment runs under the name; null when nothing. */
      current_version: count.nullable(),
      current_revision_hash: z.string().nullable(),
      revision_hash: z.string(),
      /** False when what runs now is no bundle of contracts: then nothing is listed below but agents. */
      comparable: z.boolean(),
      added: z.array(oneSided),
      removed: z.array(oneSided),
      /** Stricter in every field that differs. */
      tightened: z.array(contractChange),
      /** More lenient in every field that differs. */
      loosened: z.array(contractChange),
      /** Contracts that are not clearly tightened or loosened, or that differ only in words for people. */
      changed: z.array(contractChange),
      unchanged: count,
      agents: z.object({
        /** Connected, and following the bundle or all bundles. */
        connected: count,
        /** Number of agents that run the proposed document already. */
        running: count,
        unknown: count,
        versions: z.array(runningVersion),
      }),
    }),
    errors: ['not_found', 'validation_failed', 'unprocessable', 'overloaded', 'unavailable'],
    bodyLimit: documentBody,
  },
});
