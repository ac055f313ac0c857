// Route of health on the hosted API, as the console API has it.

import { routes } from '../../http/contract/route.ts';
import { healthRoutes } from './health-routes.ts';

export const hostedHealthRoutes = routes({
  hostedHealth: { ...healthRoutes.health, path: '/v1/health', tag: 'hosted-health' },
});
