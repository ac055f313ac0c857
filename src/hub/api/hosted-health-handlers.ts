// Health on the hosted API.

import type { Handlers } from '../../http/contract/handler.ts';
import type { hostedHealthRoutes } from './hosted-health-routes.ts';
import { probed } from './probe.ts';

export const hostedHealth: Handlers<typeof hostedHealthRoutes> = {
  hostedHealth: (hub) => probed(hub),
};
