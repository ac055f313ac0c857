// Vitest's global setup of the cluster suites: starts the servers once and gives their addresses to the test files
// (`inject`).
import type {} from 'vitest';
import type { TestProject } from 'vitest/node';
import { startServices } from './start.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    mongoUrl: string;
    redisUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Tests that kill a server start one of their own.
  const services = await startServices({ forced: false });
  project.provide('mongoUrl', services.mongoUrl);
  project.provide('redisUrl', services.redisUrl);
  return () => services.stop();
}
