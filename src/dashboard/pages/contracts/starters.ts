// Example contracts for a first one.

export interface Starter {
  readonly name: string;
  readonly type: 'pre' | 'post' | 'session' | 'sandbox';
  readonly text: string;
}

export const starters: readonly Starter[] = [
  {
    name: 'Deny a call',
    type: 'pre',
    text: `tool: read_file
when:
  args.path:
    contains_any: [".env", "id_rsa"]
then:
  effect: deny
  message: "Secrets stay where they are: {args.path}"
  tags: [secrets]
`,
  },
  {
    name: 'Require approval',
    type: 'pre',
    text: `tool: deploy
when:
  environment: { equals: production }
then:
  effect: approve
  message: "Deploy to production?"
  timeout: 300
  timeout_effect: deny
`,
  },
  {
    name: 'Observe a call',
    type: 'pre',
    text: `mode: observe
tool: refund
when:
  args.amount: { gt: 500 }
then:
  effect: deny
  message: "A refund of {args.amount} is large."
`,
  },
  {
    name: 'Redact a result',
    type: 'post',
    text: `tool: "*"
when:
  output.text: { matches: "AKIA[0-9A-Z]{16}" }
then:
  effect: redact
  message: "The result contains a key."
`,
  },
  {
    name: 'Limit a session',
    type: 'session',
    text: `limits:
  max_tool_calls: 100
  max_calls_per_tool:
    send_mail: 5
then:
  effect: deny
  message: "The session reached its limit."
`,
  },
  {
    name: 'Restrict paths',
    type: 'sandbox',
    text: `tools: [read_file, write_file]
within: [/workspace]
outside: deny
message: "Only files in the workspace are allowed."
`,
  },
];

export const starterBundle = `apiVersion: service/v1
kind: ContractBundle
metadata:
  name: starter
  description: A first bundle
defaults:
  mode: enforce
contracts:
  - id: no-secrets
    type: pre
    tool: read_file
    when:
      args.path:
        contains_any: [".env", "id_rsa"]
    then:
      effect: deny
      message: "Secrets stay where they are: {args.path}"
      tags: [secrets]
  - id: ask-before-deploy
    type: pre
    tool: deploy
    when:
      environment: { equals: production }
    then:
      effect: approve
      message: "Deploy to production?"
      timeout: 300
`;
