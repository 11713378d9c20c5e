package api

import "slices"

// ApplicationDocumentTypes returns the document types of the customer application record (spec, "Customer application
// document types": 25 types, then PROOF_OF_RESIDENCE). The service may accept more.
func ApplicationDocumentTypes() []string {
	return []string{
		"SOURCE_OF_FUNDS", "TYPE_VISA", "IDENTIFY_BIOMETRICS", "INCUMBENCY_CERT", "PHOTO", "COMPLIANCE_OFFICER_RESUME",
		"REGULATORY_LICENSE", "SANCTIONS_AUDIT", "SANCTIONS_POLICY", "TRADE_LICENSE", "COMMERCIAL_LICENSE",
		"WOLFSBERG_GCBDDQ", "SOURCE_OF_WEALTH_COMPANY", "SOURCE_OF_WEALTH_SHAREHOLDER", "ORG_CHART", "AML_KYC_POLICY",
		"OWNERSHIP_STRUCTURE", "UBO_POA", "DIRECTOR_POA", "UBO_LIVENESS", "DIRECTOR_LIVENESS", "CONTRACT", "INVOICE",
		"TERM_SHEET", "BILL_OF_LADING", "PROOF_OF_RESIDENCE",
	}
}

// DocumentTypes returns every document type in the service's documents: those of operations and of the upload page,
// then ApplicationDocumentTypes. The service may accept more, so an unknown type is no error.
func DocumentTypes() []string {
	return slices.Concat([]string{
		"OPERATION_DOCUMENT", "PASSPORT", "ACCOUNT_AGREEMENT", "L2_ACCOUNT_AGREEMENT", "INCORPORATION_DOCUMENTS",
		"BANK_STATEMENT", "UTILITY_BILL", "LEASE_AGREEMENT", "LLC_AGREEMENT", "ARTICLES_OF_INCORPORATION",
	}, ApplicationDocumentTypes())
}
