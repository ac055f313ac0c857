// The part of autocannon that bench/scenarios/request-rates.ts uses; the package contains no types.
declare module 'autocannon' {
  interface Request {
    readonly headers?: { readonly [name: string]: string };
  }
  interface Options {
    readonly url: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    readonly requests: readonly { readonly setupRequest: (request: Request) => Request }[];
  }
  interface Result {
    readonly requests: { readonly average: number };
    readonly errors: number;
    readonly non2xx: number;
  }
  export default function autocannon(options: Options): Promise<Result>;
}
