// Links to the page that deploys, rolls back and undeploys. The address is the draft of the change.
import type { Env } from './search.ts';

export interface ChangeLink {
  readonly to: string;
  readonly search: never;
}

const link = (search: { readonly [name: string]: string | undefined }): ChangeLink => ({
  to: '/changes/new',
  search: search as never,
});

/** @param env the environment; absent: the one of the top bar, or production */
export const changeTo = {
  bundle: (name: string, version: number, env?: Env) =>
    link({ bundle: name, version: String(version), ...(env ? { env } : {}) }),
  composition: (name: string, env?: Env) => link({ composition: name, ...(env ? { env } : {}) }),
  undeploy: (name: string, env: Env) => link({ bundle: name, undeploy: 'true', env }),
};
