// The sample run: what a new workspace is shown before it has agents of its own. Calls that the engine judges for real.
// Pure.
import type { JsonObject } from '../../contract/record.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';

export const sample = {
  agentId: 'sample-agent',
  sessionId: 'sample-session',
  rulesetName: 'sample-guardrails',
  env: 'development',
  /** Seconds that its approval waits. */
  timeoutSeconds: 86_400,
} as const;

/** The fields of its approval's request that do not follow from its call. */
export const sampleRequest = {
  ...sample,
  timeoutEffect: null,
  decisionSource: 'yaml_precondition',
  principal: null,
} as const;

/** Its ruleset. @param names the apiVersion and kind that the hub writes */
export const sampleRuleset = ({
  apiVersion,
  kind,
}: {
  readonly apiVersion: string;
  readonly kind: string;
}): string => `apiVersion: ${apiVersion}
kind: ${kind}
metadata:
  name: ${sample.rulesetName}
  description: Contracts of the sample run. Change them as you like.
defaults:
  mode: enforce
tools:
  read_file: {side_effect: read}
  run_command: {side_effect: irreversible}
  deploy_service: {side_effect: irreversible}
rules:
  - id: block-env-files
    type: pre
    tool: read_file
    when:
      args.path: {contains: .env}
    then:
      action: block
      message: "Files with secrets stay closed: {args.path}"
  - id: ask-deploy
    type: pre
    tool: deploy_service
    when:
      args.target: {equals: production}
    then:
      action: ask
      message: "May {args.service} go to production?"
      timeout: ${sample.timeoutSeconds}
      timeout_action: block
  - id: watch-shell
    type: pre
    tool: run_command
    mode: observe
    when:
      args.command: {contains: rm -rf}
    then:
      action: block
      message: "A command that removes files: {args.command}"
  - id: hide-keys
    type: post
    tool: read_file
    when:
      output.text: {matches: "AKIA[0-9A-Z]{16}"}
    then:
      action: redact
      message: Access keys are taken out of what is read.
`;

/** A call of the sample agent; `executed`: it runs when nothing refuses it. */
export interface SampleCall {
  readonly id: string;
  readonly tool: string;
  readonly args: JsonObject;
  readonly executed: boolean;
}

export const sampleCalls: readonly SampleCall[] = [
  { id: 'sample-call-1', tool: 'read_file', args: { path: 'README.md' }, executed: true },
  { id: 'sample-call-2', tool: 'read_file', args: { path: 'config/.env' }, executed: false },
  { id: 'sample-call-3', tool: 'run_command', args: { command: 'rm -rf build' }, executed: true },
  {
    id: 'sample-call-4',
    tool: 'deploy_service',
    args: { service: 'shop', target: 'production' },
    executed: false,
  },
];

/** Its workflow before the last call. @param asks whether it waits for a person */
export const sampleWorkflow = (asks: boolean): JsonObject =>
  snakeKeys({
    name: 'sample-release',
    version: '1',
    activeStage: 'review',
    completedStages: ['implement'],
    blockedReason: null,
    pendingApproval: asks
      ? snakeKeys({ required: true, stageId: 'review', message: 'May shop go to production?' })
      : { required: false },
  });
