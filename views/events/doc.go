// Package events is the screen of the service's webhooks: what came, what it
// changed, how far it can be trusted, and whether the feed has stalled.
package events
