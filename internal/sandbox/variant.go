package sandbox

// Variants: the service answers otherwise where its documents say nothing.
const (
	variantPost   = "customer-by-post"   // a customer is read by POST; GET is 405
	variantHidden = "hidden-application" // the application cannot be read: 404
	variantApart  = "share-apart"        // a share changes neither the application nor the customer's status
	variantWhole  = "whole-tree"         // the tree of a child is that of its parent
)

var variantWords = []string{variantPost, variantHidden, variantApart, variantWhole}
