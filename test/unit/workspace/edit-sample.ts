/** A flow with all that an edit must leave alone: comments, odd spacing, quotes, groups, schemas, code that looks like headings. */
export const SAMPLE = `---
# Who owns this: care team
name: refund-request
description:   "Decide a refund"   # one line
trigger: webhook
signature:    hmac
signing_secret: SHOP_SECRET

budget: $1.50 # USD
secrets: [ SHOP_API_KEY ]
input:
  order_id: string, Order number
  # the next one may be empty
  note?: string
tags:
  - money
  - 'care'
---

# Refund request

We answer in the voice of [[knowledge/tone]].

<!-- Notes for people. -->

## Read the request @triager

<!-- keep -->
- id: read
- output: json
- retry:   { max: 3,  wait: 30s }

Read the message from {{input.email}}.
Two lines, *with* marks: \\@nobody.

\`\`\`yaml schema
verdict(enum): [refund, refuse]
\`\`\`

And a last word.

## Gather facts

- when: steps.read.data.verdict != 'refuse'

For all branches.

### Order history @shop-analyst
* output: json

Look it up:

\`\`\`md
## not a heading
- id: not_an_option
\`\`\`

\`\`\`yaml schema
orders: integer
\`\`\`

### Delivery status @courier-analyst

Find the parcel.

## Draft it ##

- a list that is
- instruction

Words.

## @writer

## Sign off

- approve: human
- timeout: 2d

Check {{steps.draft_it.result}}.
`;
