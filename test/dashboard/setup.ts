// Before the suites of the web console: unpacks the browser, which each worker then starts for itself.
import { binary } from './browser.ts';

export const setup = async (): Promise<void> => {
  await binary();
};
