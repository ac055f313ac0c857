// Fields that saves of contracts and compositions share.
import { z } from 'zod';

/** `hold`: no composition is deployed by the save. */
export const autoDeployQuery = { auto_deploy: z.literal('hold').optional() };

/** In the answer to a save: a composition that deploys by itself does not run everywhere as it is saved. */
export const autoDeployReply = { auto_deploy: z.literal('held').optional() };
