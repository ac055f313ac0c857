// The initial text of a new ruleset.

export const starterRuleset = `apiVersion: service/v1
kind: Ruleset
metadata:
  name: starter
  description: A first ruleset
defaults:
  mode: enforce
rules:
  - id: no-secrets
    type: pre
    tool: read_file
    when:
      args.path:
        contains_any: [".env", "id_rsa"]
    then:
      action: block
      message: "Secrets stay where they are: {args.path}"
  - id: ask-before-deploy
    type: pre
    tool: deploy
    when:
      environment: { equals: production }
    then:
      action: ask
      message: "Deploy to production?"
      timeout: 300
`;
