// Every table of routes of the hosted API in one.
import { routes } from '../route.ts';
import { hostedKeyRoutes } from './keys.ts';

export const hostedApi = routes({
  ...hostedKeyRoutes,
});

export type HostedApi = typeof hostedApi;
