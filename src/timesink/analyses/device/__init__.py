"""What the devices did: how busy they were, why they stood still, how work reached them."""
