// Examples for a first contract, a first bundle and a first ruleset.

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

/** The names of either kind of document. `tags`: a line of the first rule, or empty. */
type Words = { readonly [name in 'kind' | 'noun' | 'list' | 'effect' | 'deny' | 'ask' | 'tags']: string };

const starterDocument = (words: Words): string => `apiVersion: service/v1
kind: ${words.kind}
metadata:
  name: starter
  description: A first ${words.noun}
defaults:
  mode: enforce
${words.list}:
  - id: no-secrets
    type: pre
    tool: read_file
    when:
      args.path:
        contains_any: [".env", "id_rsa"]
    then:
      ${words.effect}: ${words.deny}
      message: "Secrets stay where they are: {args.path}"${words.tags}
  - id: ask-before-deploy
    type: pre
    tool: deploy
    when:
      environment: { equals: production }
    then:
      ${words.effect}: ${words.ask}
      message: "Deploy to production?"
      timeout: 300
`;

export const starterBundle = starterDocument({
  kind: 'ContractBundle',
  noun: 'bundle',
  list: 'contracts',
  effect: 'effect',
  deny: 'deny',
  ask: 'approve',
  tags: '\n      tags: [secrets]',
});

export const starterRuleset = starterDocument({
  kind: 'Ruleset',
  noun: 'ruleset',
  list: 'rules',
  effect: 'action',
  deny: 'block',
  ask: 'ask',
  tags: '',
});
