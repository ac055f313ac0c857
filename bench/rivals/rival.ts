// The form of a rival: another server that the suite finds, starts and measures beside the hub.
import type { HttpCall } from '../suite/http-call.ts';

/** A program that can start. */
export interface Installation {
  /** Path of the program. */
  readonly program: string;
  readonly version: string;
}

export interface Absence {
  /** The reason, as results files hold it. */
  readonly absent: string;
}

export interface RivalProcess {
  /** All processes of the server. */
  pids(): readonly number[];
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
}

/** A running server that holds event streams of one channel. */
export interface StreamServer extends RivalProcess {
  readonly port: number;
  /** The bytes that open a stream. */
  readonly request: string;
  /** An open stream has read this text. */
  readonly marker: string;
  /** Sends a frame of at least `bytes` to all streams. Resolves with the server's answer. */
  publish(bytes: number): Promise<void>;
}

/** A running server that decides calls by the contracts of the scenario `evaluate`. */
export interface DecisionServer extends RivalProcess {
  readonly origin: string;
  /** One decision. `{n}` becomes the number of the request. */
  readonly call: HttpCall;
  /** One decision. @returns the server's own time for it, microseconds */
  decide(n: number): Promise<number>;
}

interface RivalForm {
  readonly name: string;
  readonly about: string;
  /** Its configuration in `bench/rivals`. */
  readonly files: readonly string[];
  /** Source from which `rivals install` gets the rival. */
  readonly source: RivalSource;
  locate(): Installation | Absence;
}

export type RivalSource =
  /** Debian's packages, which the suite does not install. */
  | { readonly kind: 'debian'; readonly packages: readonly string[] }
  /** A Go module at a version, with the checksums of Go. */
  | { readonly kind: 'go'; readonly module: string }
  /** A Go module in `bench/rivals`, pinned by its go.mod and go.sum. */
  | { readonly kind: 'go-source'; readonly folder: string }
  /** A file in `bench/rivals` for a C compiler. */
  | { readonly kind: 'c-source'; readonly file: string }
  /** Found on PATH alone. */
  | { readonly kind: 'path'; readonly page: string };

export interface StreamRival extends RivalForm {
  readonly kind: 'streams';
  /** @throws CannotRun if the server does not start */
  start(installation: Installation): Promise<StreamServer>;
}

export interface DecisionRival extends RivalForm {
  readonly kind: 'decisions';
  /** @throws CannotRun if the server does not start */
  start(installation: Installation): Promise<DecisionServer>;
}

export type Rival = StreamRival | DecisionRival;
