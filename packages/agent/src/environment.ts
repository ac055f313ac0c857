// The environment variables that `env.NAME` selectors of an agent's contracts read; the only file of the agent library
// that does.

export type Variables = { readonly [name: string]: string | undefined };

/** Those of this process, read live. */
export const processVariables: Variables = process.env;
