// The client program of the conformance runs: hands what the suite asks to the test, whose process has the client.
const [address, url] = process.argv.slice(2);
const {
  MCP_CONFORMANCE_SCENARIO,
  MCP_CONFORMANCE_PROTOCOL_VERSION,
  MCP_CONFORMANCE_CONTEXT = '{}',
} = process.env;
const body = JSON.stringify({
  url,
  scenario: MCP_CONFORMANCE_SCENARIO,
  revision: MCP_CONFORMANCE_PROTOCOL_VERSION,
  context: JSON.parse(MCP_CONFORMANCE_CONTEXT),
});
const answer = await fetch(address, { method: 'POST', body });
console.log(await answer.text());
