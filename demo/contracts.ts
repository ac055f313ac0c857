// The bundle of the demo: six contracts, one of each kind worth seeing. Rules only; nothing runs here.

/** The name the bundle is deployed under. */
export const bundleName = 'demo-guardrails';

/** Time that the hub waits for a person's decision, in seconds. */
export const approvalTimeout = 600;

/**
 * The YAML of the bundle.
 * @param workspace the one folder whose files the agents may touch, absolute
 */
export const contracts = (workspace: string): string => `apiVersion: service/v1
kind: ContractBundle
metadata:
  name: ${bundleName}
  description: six contracts that show what contracts can do
defaults:
  mode: enforce
tools:
  read_file: { side_effect: read }
  find_customer: { side_effect: read }
  fetch_page: { side_effect: read }
contracts:
  - id: no-secrets
    type: pre
    tool: read_file
    when:
      args.path: { ends_with: ".env" }
    then: { effect: deny, message: "{args.path} holds secrets" }

  - id: ask-before-publishing
    type: pre
    tool: publish
    when:
      args.to: { equals: public }
    then:
      effect: approve
      message: "publish {args.page} for everybody to read?"
      timeout: ${approvalTimeout}
      timeout_effect: deny

  - id: exports-need-review
    type: pre
    mode: observe
    tool: write_file
    when:
      args.path: { ends_with: ".csv" }
    then: { effect: deny, message: "exports such as {args.path} will need a review" }

  - id: stay-in-the-workspace
    type: sandbox
    tools: [read_file, write_file, run_command]
    within: [${JSON.stringify(workspace)}]
    allows: { commands: [ls, wc] }
    message: "only files of the workspace, and only the commands ls and wc"

  - id: three-calls-a-run
    type: session
    limits: { max_tool_calls: 3 }
    then: { effect: deny, message: "three calls are enough for one run" }

  - id: hide-phone-numbers
    type: post
    tool: find_customer
    when:
      output.text: { matches: '\\+?\\d[\\d -]{7,}\\d' }
    then: { effect: redact, message: "phone numbers are not for models" }
`;
