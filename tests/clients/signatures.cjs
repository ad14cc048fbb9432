// Signs and verifies as the provider's Node library does: JSON in, JSON out.
'use strict';

const { readFileSync } = require('fs');
const { WebhookSignature, WebhookSignatureError } = require('fintoc');

function verify({ body, header, secret }) {
  try {
    WebhookSignature.verifyHeader(body, header, secret);
  } catch (error) {
    if (error instanceof WebhookSignatureError) return 'refused';
    throw error;
  }
  return 'taken';
}

const asked = JSON.parse(readFileSync(0, 'utf8'));
const sign = asked.sign.map(({ body, t, secret }) => WebhookSignature.computeSignature(body, t, secret));
console.log(JSON.stringify({ sign, verify: asked.verify.map(verify) }));
