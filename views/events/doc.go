// Package events is the screen of the service's webhooks: the events, their changes
// and verification, and the state of the feed.
package events
