// The agent library under its former name, `reeve/client`: kept for one version. Agents install the package
// `reeve-agent` instead.
export * from 'reeve-agent';
