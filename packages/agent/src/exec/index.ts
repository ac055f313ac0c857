// `reeve-agent/exec`: runs a program for a tool, contained by the operating system.
export type { IsolationMode } from '../rules/isolation.ts';
export { type ExecOptions, type ExecResult, exec } from './exec.ts';
export { IsolationError } from './isolation.ts';
